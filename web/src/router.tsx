import { createRootRoute, createRoute, createRouter, Navigate } from "@tanstack/react-router";

import { PanelSkeleton } from "./components/Loading";
import { PageError } from "./components/PageError";
import { parseSearch, stringifySearch } from "./lib/search";
import { Gate } from "./pages/shell/Gate";
import { NotFound } from "./pages/shell/NotFound";
import { pages } from "./routes";

const root = createRootRoute({ component: Gate, notFoundComponent: NotFound });

const routes = pages.map((page) =>
  createRoute({ getParentRoute: () => root, path: page.path, component: page.component }),
);

// Gate renders its own pages on these paths and redirects signed-in users.
const entries = ["/sign-in", "/register", "/welcome"].map((path) =>
  createRoute({ getParentRoute: () => root, path, component: () => null }),
);

function home() {
  const first = pages.find((page) => page.group)?.path ?? "/quickstart";
  return createRoute({
    getParentRoute: () => root,
    path: "/",
    component: () => <Navigate to={first} replace />,
  });
}

/** Creates the router of the dashboard. */
export function newRouter() {
  const all = [...routes, ...entries, ...(pages.some((page) => page.path === "/") ? [] : [home()])];
  return createRouter({
    routeTree: root.addChildren(all),
    parseSearch,
    stringifySearch,
    defaultPreload: "intent",
    scrollRestoration: true,
    defaultPendingComponent: () => <PanelSkeleton height={320} />,
    defaultErrorComponent: ({ error, reset }) => <PageError error={error} onRetry={reset} />,
  });
}
