import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The gateway that `npm run dev` passes API calls on to.
const gateway = "http://127.0.0.1:8080";

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
    environment: "jsdom",
    setupFiles: ["src/lib/testSetup.ts"],
    restoreMocks: true,
    testTimeout: 30_000, // a busy machine is no failure
    env: { TZ: "UTC" },
  },
});
