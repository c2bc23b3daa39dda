import { lazyRouteComponent } from "@tanstack/react-router";

import { isLoadError, LoadError } from "./newVersion";

/**
 * A page whose code is loaded when it is first shown. If a file is missing, the router reloads the document, even
 * while the gateway does not respond. The router recognises the browser's message for a missing file, but not a
 * LoadError. With a LoadError, PageError decides whether to reload.
 */
export const lazyPage: typeof lazyRouteComponent = (importer, exportName) =>
  lazyRouteComponent(async () => {
    try {
      return await importer();
    } catch (error) {
      throw isLoadError(error)
        ? new LoadError("Could not load a file of this page", { cause: error })
        : error;
    }
  }, exportName);
