/** The pages of the navigation with their headings. */
export const navigation = [
  { path: "/", title: "Overview", file: "overview" },
  { path: "/requests", title: "Requests", file: "requests" },
  { path: "/sessions", title: "Sessions", file: "sessions" },
  { path: "/proof", title: "Proof", file: "proof" },
  { path: "/playground", title: "Playground", file: "playground" },
  { path: "/quickstart", title: "Quickstart", file: "quickstart" },
  { path: "/routing/policies", title: "Policies", file: "policies" },
  { path: "/routing/models", title: "Models", file: "models" },
  { path: "/providers", title: "Providers", file: "providers" },
  { path: "/settings/keys", title: "API keys", file: "keys" },
  { path: "/settings/members", title: "Members", file: "members" },
  { path: "/settings/data", title: "Data", file: "data" },
  { path: "/settings/account", title: "Account", file: "account" },
  { path: "/settings/audit", title: "Audit log", file: "audit" },
];
