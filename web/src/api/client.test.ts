import { afterEach, describe, expect, it, vi } from "vitest";

import { storeText } from "../lib/stored";
import { api, must, signedOutEvent } from "./client";
import { ApiError } from "./errors";

const requests: Request[] = [];

function respond(status: number, body: unknown): void {
  vi.stubGlobal("fetch", (request: Request) => {
    requests.push(request);
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return Promise.resolve(new Response(text, { status, headers: { "content-type": "application/json" } }));
  });
}

afterEach(() => {
  vi.unstubAllGlobals();
  storeText("workspace", "");
  requests.length = 0;
});

const failure = async (call: Promise<unknown>): Promise<ApiError> => {
  const error: unknown = await call.then(
    () => undefined,
    (e: unknown) => e,
  );
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
};

describe("the admin API client", () => {
  it("throws gateway errors with code, status and request id", async () => {
    respond(400, {
      error: "The request is not valid.",
      code: "INVALID_REQUEST",
      details: {
        origin: "client",
        request_id: "req_1",
        retryable: false,
        problems: [{ in: "body", param: "name", message: "is taken" }],
      },
    });
    const error = await failure(must(api.GET("/keys")));
    expect([error.code, error.status, error.requestId, error.retryable]).toEqual([
      "INVALID_REQUEST",
      400,
      "req_1",
      false,
    ]);
    expect(error.problems).toEqual({ name: "is taken" });
  });

  it("reports an error in another format by its status", async () => {
    respond(502, "<html>bad gateway</html>");
    const error = await failure(must(api.GET("/keys")));
    expect([error.code, error.status]).toEqual(["UNEXPECTED_RESPONSE", 502]);
  });

  it("dispatches the signed-out event when the session has ended", async () => {
    const onSignedOut = vi.fn();
    window.addEventListener(signedOutEvent, onSignedOut);
    respond(401, { error: "Sign in.", code: "SIGN_IN_REQUIRED", details: {} });
    await failure(must(api.GET("/keys")));
    expect(onSignedOut).toHaveBeenCalledOnce();
    await failure(must(api.POST("/session", { body: { email: "a", password: "b" } })));
    expect(onSignedOut).toHaveBeenCalledOnce(); // a wrong password does not end a session
    window.removeEventListener(signedOutEvent, onSignedOut);
  });

  it("sends the chosen workspace, except to account endpoints", async () => {
    storeText("workspace", "ws_2");
    respond(200, {});
    await api.GET("/keys");
    await api.GET("/session");
    expect(requests.map((request) => new URL(request.url).search)).toEqual(["?workspace=ws_2", ""]);
  });

  it("reports that the gateway cannot be reached", async () => {
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("failed to fetch")));
    const error = await failure(must(api.GET("/keys")));
    expect([error.code, error.retryable]).toEqual(["UNREACHABLE", true]);
  });
});
