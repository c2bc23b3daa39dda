import createClient, { type Middleware } from "openapi-fetch";

import { setReachable } from "../lib/reachable";
import { storedText } from "../lib/stored";
import { takeEarly } from "./early";
import { ApiError, readError } from "./errors";
import type { components, paths } from "./schema";

/** The admin API's types, by their schema names. */
export type Schema = components["schemas"];

/** The window event that is dispatched when the session has ended. */
export const signedOutEvent = "fairlead-signed-out";

// Endpoints that do not belong to a workspace.
const personal = /^\/api\/v1\/(session|registration|account|workspaces|invitations)(\/|$)/;

const middleware: Middleware = {
  async onRequest({ request }) {
    const url = new URL(request.url);
    const workspace = storedText("workspace");
    if (!workspace || personal.test(url.pathname) || url.searchParams.has("workspace")) {
      return undefined;
    }
    url.searchParams.set("workspace", workspace);
    // Copying the request itself would stream its body, which browsers allow over HTTP/2 only.
    const { method, headers, signal } = request;
    const body = method === "GET" || method === "HEAD" ? undefined : await request.text();
    return new Request(url, { method, headers, signal, body });
  },
  async onResponse({ request, response }) {
    setReachable(true);
    if (response.ok) {
      return undefined;
    }
    const error = await readError(response);
    if (error.status === 401 && !personal.test(new URL(request.url).pathname)) {
      window.dispatchEvent(new Event(signedOutEvent));
    }
    throw error;
  },
  onError({ error }) {
    if (error instanceof DOMException && error.name === "AbortError") {
      return undefined;
    }
    setReachable(false);
    return new ApiError(
      "UNREACHABLE",
      "Could not reach the gateway. Check your connection and that the gateway is running.",
      0,
      "",
    );
  },
};

/** The admin API client. Calls throw ApiError; unwrap their results with must. */
export const api = createClient<paths>({
  baseUrl: `${location.origin}/api/v1`,
  querySerializer: serializeQuery,
  fetch: (request) => takeEarly(request) ?? fetch(request),
});
api.use(middleware);

function serializeQuery(query: Record<string, unknown>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") {
      params.set(name, String(value));
    }
  }
  return params.toString();
}

/** must returns the data of a call. Failed calls have already thrown an ApiError. */
export async function must<T>(call: Promise<{ data?: T }>): Promise<T> {
  const { data } = await call;
  return data as T;
}
