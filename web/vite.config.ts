import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The gateway that `npm run dev` passes API calls on to.
const gateway = "http://127.0.0.1:8080";

// Tests that need a document.
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
  // Paths are absolute: index.html is served for every page of the dashboard.
  base: "/",
  build: {
    outDir: "stub/dist",
    emptyOutDir: true,
    target: "es2022",
    // Browsers that know light-dark(): an older target would rewrite it into something that needs more of ours.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // The policy of the page allows scripts and styles from files only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
  server: { proxy: { "/api": gateway, "/proxy": gateway, "/health": gateway } },
  test: {
    restoreMocks: true,
    testTimeout: 30_000, // a busy machine is no failure
    env: { TZ: "UTC" },
    // Most tests are of plain functions; a document for each of them would take longer than the tests themselves.
    projects: [
      {
        extends: true,
        test: { name: "functions", environment: "node", include: ["src/**/*.test.ts"], exclude: documents },
      },
      {
        extends: true,
        test: {
          name: "documents",
          environment: "jsdom",
          setupFiles: ["src/lib/testSetup.ts"],
          include: documents,
        },
      },
    ],
  },
});
