/** The time zones that this browser knows, UTC first; the one in use is always among them. */
export function zoneNames(current: string): string[] {
  const names = new Set(["UTC", current, ...Intl.supportedValuesOf("timeZone")]);
  return [...names].filter((name) => name !== "");
}

/** Writes a client such as a browser's User-Agent in a few words. */
export function clientName(agent: string): string {
  const browser = browsers.find(([, sign]) => sign.test(agent))?.[0];
  const system = systems.find(([, sign]) => sign.test(agent))?.[0];
  if (!browser) {
    return agent.split(" ")[0] || "unknown";
  }
  return system ? `${browser} on ${system}` : browser;
}

// Browsers name each other in their User-Agent: the most particular comes first.
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
