import { defineConfig, devices } from "@playwright/test";

import { root } from "./support/binary";

// Chromium makes background requests by default, and the tests check that no external request is made.
const quiet = [
  "--no-sandbox",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  "--disable-quic",
  // Over HTTP, fairlead.test is not a secure origin, unlike localhost. All other host names cannot be resolved.
  "--host-resolver-rules=MAP fairlead.test 127.0.0.1,MAP * ~NOTFOUND,EXCLUDE 127.0.0.1,EXCLUDE localhost",
];

const wide = { viewport: { width: 1280, height: 800 } };
const narrow = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

export default defineConfig({
  globalSetup: "./support/setup.ts",
  testDir: "tests",
  outputDir: `${root}/test-results/browser`,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  fullyParallel: false, // the tests of a file share one gateway
  workers: 2,
  retries: 0,
  forbidOnly: Boolean(process.env["CI"]),
  reporter: [["list"], ["./support/summary.ts"]],
  use: {
    ...devices["Desktop Chrome"],
    ...wide,
    colorScheme: "light",
    reducedMotion: "reduce",
    timezoneId: "UTC",
    locale: "en-US",
    actionTimeout: 30_000,
    trace: process.env["TRACE"] ? "retain-on-failure" : "off", // tracing slows the tests down
    screenshot: "only-on-failure",
    launchOptions: { executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium-headless-shell", args: quiet },
  },
  projects: [
    { name: "desktop", testIgnore: "phone.spec.ts" },
    { name: "phone", testMatch: ["baseline.spec.ts", "connect.spec.ts", "docs.spec.ts", "pages.spec.ts", "phone.spec.ts", "routing.spec.ts", "sessions.spec.ts"], use: { ...narrow, colorScheme: "dark" } },
    { name: "dark", testMatch: ["docs.spec.ts", "pages.spec.ts"], use: { colorScheme: "dark" } },
    // The main journeys in one project: make test runs them, and make verify runs all the others.
    { name: "journeys", testMatch: ["entry.spec.ts", "quickstart.spec.ts", "connect.spec.ts", "keys.spec.ts", "list.spec.ts", "budgets.spec.ts", "pages.spec.ts"] },
    { name: "screenshots", testDir: "shots", testMatch: "*.shots.ts", timeout: 360_000 },
  ],
});
