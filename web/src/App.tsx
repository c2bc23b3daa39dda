import { localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useState } from "react";

import { newQueryClient } from "./api/queries";
import { pageMeta } from "./lib/page";
import { newRouter } from "./router";
import { resolveVariables, theme } from "./theme";

// public/theme.js reads the same key before the first paint.
const colourSchemes = localStorageColorSchemeManager({ key: "fairlead-theme" });

/** The dashboard inside its providers. */
export function App() {
  const [queryClient] = useState(newQueryClient);
  const [router] = useState(newRouter);
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={resolveVariables}
      defaultColorScheme="auto"
      colorSchemeManager={colourSchemes}
      getStyleNonce={() => pageMeta("nonce")}
    >
      <Notifications position="bottom-right" />
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  );
}
