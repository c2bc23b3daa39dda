import type { RouteComponent } from "@tanstack/react-router";

import type { IconName } from "./components/Icon";
import { lazyPage } from "./lib/lazyPage";
import { OverviewPage } from "./pages/overview/OverviewPage";

/** The groups of the navigation, in order. */
export const groups = ["Observe", "Try", "Route", "Manage"] as const;

/** One page of the dashboard. */
export interface Page {
  path: string;
  title: string;
  icon: IconName;
  component: RouteComponent;
  /** Navigation group; a page without one is reached through links. */
  group?: (typeof groups)[number];
  /** Path prefix of other pages on which the navigation marks this page as active. */
  below?: string;
  /** Letter of the shortcut "g x". */
  shortcut?: string;
  /** Permission needed to see the page, such as "read_requests". */
  permission?: string;
}

/** The pages inside the shell. The path of a new page must be one that web/embed.go serves. */
export const pages: Page[] = [
  {
    path: "/",
    title: "Overview",
    group: "Observe",
    icon: "activity",
    shortcut: "o",
    permission: "read_figures",
    component: OverviewPage, // the start page: loading it separately would take another round trip
  },
  {
    path: "/requests",
    title: "Requests",
    group: "Observe",
    icon: "list",
    shortcut: "r",
    permission: "read_requests",
    component: lazyPage(() => import("./pages/requests/RequestsPage"), "RequestsPage"),
  },
  {
    path: "/requests/compare",
    title: "Compare requests",
    icon: "list",
    permission: "read_requests",
    component: lazyPage(() => import("./pages/requests/ComparePage"), "ComparePage"),
  },
  {
    path: "/requests/$id",
    title: "Request",
    icon: "list",
    permission: "read_requests",
    component: lazyPage(() => import("./pages/requests/RequestPage"), "RequestPage"),
  },
  {
    path: "/report",
    title: "Report",
    group: "Observe",
    icon: "chart",
    permission: "read_figures",
    component: lazyPage(() => import("./pages/report/ReportPage"), "ReportPage"),
  },
  {
    path: "/sessions",
    title: "Sessions",
    group: "Observe",
    icon: "layers",
    shortcut: "s",
    permission: "read_requests",
    component: lazyPage(() => import("./pages/sessions/SessionsPage"), "SessionsPage"),
  },
  {
    path: "/sessions/$id",
    title: "Session",
    icon: "layers",
    permission: "read_requests",
    component: lazyPage(() => import("./pages/sessions/SessionPage"), "SessionPage"),
  },
  {
    path: "/proof",
    title: "Proof",
    group: "Observe",
    icon: "shield",
    permission: "read_figures",
    component: lazyPage(() => import("./pages/proof/ProofPage"), "ProofPage"),
  },
  {
    path: "/budgets",
    title: "Budgets",
    group: "Observe",
    icon: "wallet",
    shortcut: "b",
    permission: "read_requests",
    component: lazyPage(() => import("./pages/budgets/BudgetsPage"), "BudgetsPage"),
  },
  {
    path: "/alerts",
    title: "Alerts",
    group: "Observe",
    icon: "alert",
    permission: "read_workspace",
    component: lazyPage(() => import("./pages/alerts/AlertsPage"), "AlertsPage"),
  },
  {
    path: "/playground",
    title: "Playground",
    group: "Try",
    icon: "play",
    shortcut: "p",
    permission: "use_playground",
    component: lazyPage(() => import("./pages/playground/PlaygroundPage"), "PlaygroundPage"),
  },
  {
    path: "/quickstart",
    title: "Quickstart",
    group: "Try",
    icon: "rocket",
    shortcut: "q",
    component: lazyPage(() => import("./pages/quickstart/QuickstartPage"), "QuickstartPage"),
  },
  {
    path: "/routing/routes",
    title: "Routes",
    group: "Route",
    icon: "route",
    permission: "read_models",
    component: lazyPage(() => import("./pages/routes/RoutesPage"), "RoutesPage"),
  },
  {
    path: "/routing/policies",
    title: "Policies",
    group: "Route",
    icon: "route",
    permission: "read_policies",
    component: lazyPage(() => import("./pages/policies/PoliciesPage"), "PoliciesPage"),
  },
  {
    path: "/routing/models",
    below: "/models/",
    title: "Models",
    group: "Route",
    icon: "cpu",
    shortcut: "m",
    permission: "read_models",
    component: lazyPage(() => import("./pages/models/ModelsPage"), "ModelsPage"),
  },
  {
    path: "/models/$name",
    title: "Model",
    icon: "cpu",
    permission: "read_models",
    component: lazyPage(() => import("./pages/models/ModelPage"), "ModelPage"),
  },
  {
    path: "/providers/$name",
    title: "Provider",
    icon: "server",
    permission: "read_providers",
    component: lazyPage(() => import("./pages/providers/ProviderPage"), "ProviderPage"),
  },
  {
    path: "/providers",
    title: "Providers",
    group: "Route",
    icon: "server",
    permission: "read_providers",
    component: lazyPage(() => import("./pages/providers/ProvidersPage"), "ProvidersPage"),
  },
  {
    path: "/settings/keys",
    title: "API keys",
    group: "Manage",
    icon: "key",
    shortcut: "k",
    permission: "read_keys",
    component: lazyPage(() => import("./pages/keys/KeysPage"), "KeysPage"),
  },
  {
    path: "/settings/members",
    title: "Members",
    group: "Manage",
    icon: "users",
    permission: "read_members",
    component: lazyPage(() => import("./pages/members/MembersPage"), "MembersPage"),
  },
  {
    path: "/settings/data",
    title: "Data",
    group: "Manage",
    icon: "database",
    permission: "read_workspace",
    component: lazyPage(() => import("./pages/data/DataPage"), "DataPage"),
  },
  {
    path: "/settings/account",
    title: "Account",
    group: "Manage",
    icon: "user",
    component: lazyPage(() => import("./pages/account/AccountPage"), "AccountPage"),
  },
  {
    path: "/settings/audit",
    title: "Audit log",
    group: "Manage",
    icon: "history",
    permission: "read_audit",
    component: lazyPage(() => import("./pages/audit/AuditPage"), "AuditPage"),
  },
];
