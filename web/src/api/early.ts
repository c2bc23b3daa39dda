declare global {
  interface Window {
    /** Responses of the calls that public/start.js has made, by URL. */
    fairleadEarly?: Map<string, Promise<Response>>;
  }
}

const maxAgeMs = 30_000;

/** The response of a call that began before this script was loaded. Each can be taken once, soon after the page was opened. */
export function takeEarly(request: Request): Promise<Response> | undefined {
  const { pathname, search } = new URL(request.url);
  const calls = window.fairleadEarly;
  const call = calls?.get(pathname + search);
  if (!call || request.method !== "GET" || performance.now() > maxAgeMs) {
    return undefined;
  }
  calls?.delete(pathname + search);
  return call;
}
