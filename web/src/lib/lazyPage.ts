import { lazyRouteComponent } from "@tanstack/react-router";

import { isLoadError, LoadError } from "./newVersion";

/**
 * A page whose code is loaded when it is first shown. The router reloads the document by itself when it recognises the
 * browser's message for a missing file, even while the gateway does not respond. A LoadError leaves that to PageError.
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
