/** The time zones that the browser supports, UTC first. The list always includes the current zone. */
export function zoneNames(current: string): string[] {
  const names = new Set(["UTC", current, ...Intl.supportedValuesOf("timeZone")]);
  return [...names].filter((name) => name !== "");
}

/** Shortens a User-Agent to browser and system. */
export function clientName(agent: string): string {
  const browser = browsers.find(([, sign]) => sign.test(agent))?.[0];
  const system = systems.find(([, sign]) => sign.test(agent))?.[0];
  if (!browser) {
    return agent.split(" ")[0] || "unknown";
  }
  return system ? `${browser} on ${system}` : browser;
}

// A User-Agent also contains the names of other browsers, so the most specific pattern comes first.
const browsers: [string, RegExp][] = [
  ["Edge", /Edg\//],
  ["Opera", /OPR\//],
  ["Firefox", /Firefox\//],
  ["Chrome", /Chrome\//],
  ["Safari", /Safari\//],
];

const systems: [string, RegExp][] = [
  ["Android", /Android/],
  ["iPhone", /iPhone/],
  ["iPad", /iPad/],
  ["Windows", /Windows/],
  ["macOS", /Mac OS X/],
  ["Linux", /Linux/],
];
