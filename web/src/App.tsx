import { localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";

import { newQueryClient } from "./api/queries";
import { useNotified } from "./lib/notify";
import { pageMeta } from "./lib/page";
import { newRouter } from "./router";
import { resolveVariables, theme } from "./theme";

const Notifications = lazy(() =>
  import("@mantine/notifications").then((module) => ({ default: module.Notifications })),
);

// public/start.js reads the same key before the first paint.
const colourSchemes = localStorageColorSchemeManager({ key: "fairlead-theme" });

/** The dashboard inside its providers. */
export function App() {
  const [queryClient] = useState(newQueryClient);
  const [router] = useState(newRouter);
  const notified = useNotified();
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={resolveVariables}
      defaultColorScheme="auto"
      colorSchemeManager={colourSchemes}
      getStyleNonce={() => pageMeta("nonce")}
    >
      <Suspense>{notified && <Notifications position="bottom-right" />}</Suspense>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  );
}
