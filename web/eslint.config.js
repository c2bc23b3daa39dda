import js from "@eslint/js";
import reactHooks from "eslint-plugin-react-hooks";
import globals from "globals";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["stub", "node_modules", "src/api/schema.d.ts"] },
  js.configs.recommended,
  ...tseslint.configs.strict,
  { files: ["scripts/**", "*.js"], languageOptions: { globals: globals.node } },
  { files: ["public/**"], languageOptions: { globals: globals.browser, sourceType: "script" } },
  {
    files: ["src/**/*.{ts,tsx}"],
    plugins: { "react-hooks": reactHooks },
    languageOptions: { globals: globals.browser },
    rules: {
      ...reactHooks.configs.recommended.rules,
      "no-restricted-properties": [
        "error",
        {
          object: "navigator",
          property: "clipboard",
          message: "Use copyText from lib/clipboard, which works on http.",
        },
      ],
    },
  },
  {
    // Components take data and callbacks; only pages fetch.
    files: ["src/components/**"],
    rules: {
      "@typescript-eslint/no-restricted-imports": [
        "error",
        { patterns: [{ group: ["**/api/client", "@tanstack/react-query"], allowTypeImports: true }] },
      ],
    },
  },
);
