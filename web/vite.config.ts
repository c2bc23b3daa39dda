import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The gateway that `npm run dev` proxies API calls to.
const gateway = "http://127.0.0.1:8080";

// Tests that replace modules with vi.mock. Each file gets its own modules and DOM.
const mocked = ["src/**/*.mocked.test.tsx"];

// Other tests that need a DOM.
const documents = [
  "src/**/*.test.tsx",
  "src/api/client.test.ts",
  "src/lib/snippets.test.ts",
  "src/pages/account/account.test.ts",
  "src/pages/members/members.test.ts",
  "src/pages/playground/playground.test.ts",
];

export default defineConfig({
  plugins: [react()],
  // Absolute paths, because index.html is served for every page.
  base: "/",
  build: {
    outDir: "stub/dist",
    emptyOutDir: true,
    target: "es2022",
    // Browsers that support light-dark(); for older targets the build would rewrite it incorrectly.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // The CSP allows scripts and styles from files only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
    // One style sheet, so that a page that is opened later does not change the visible parts.
    cssCodeSplit: false,
    // scripts/compress.mjs reads and removes it.
    manifest: true,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // The libraries and components of every page. Without groups, a page would load some twenty small files.
            { name: "base", tags: ["$initial"] },
            { name: "shared", minShareCount: 4, minSize: 1000 },
          ],
        },
      },
    },
  },
  server: { proxy: { "/api": gateway, "/proxy": gateway, "/health": gateway } },
  test: {
    restoreMocks: true,
    testTimeout: 30_000, // for busy machines
    env: { TZ: "UTC" },
    // Files share modules, and a DOM if they need one: setting these up for each file would take longer than the tests.
    projects: [
      {
        extends: true,
        test: {
          name: "functions",
          environment: "node",
          isolate: false,
          include: ["src/**/*.test.ts"],
          exclude: documents,
        },
      },
      {
        extends: true,
        test: {
          name: "documents",
          environment: "jsdom",
          isolate: false,
          setupFiles: ["src/lib/testSetup.ts"],
          include: documents,
          exclude: mocked,
        },
      },
      {
        extends: true,
        test: {
          name: "mocked",
          environment: "jsdom",
          setupFiles: ["src/lib/testSetup.ts"],
          include: mocked,
        },
      },
    ],
  },
});
