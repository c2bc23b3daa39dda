import { screen } from "@testing-library/react";
import { expect, it } from "vitest";

import type { Schema } from "../../../api/client";
import { renderWithTheme } from "../../../lib/testRender";
import { Attempts } from "./Attempts";

function show(cache: Partial<Schema["AttemptView"]>) {
  const attempt: Partial<Schema["AttemptView"]> = {
    provider: "anthropic",
    model: "claude-sonnet-4-5",
    upstream: "claude-sonnet-4-5",
    class: null,
    status: 200,
    message: null,
    start_ms: 1,
    duration_ms: 900,
    connect_ms: null,
    first_token_ms: null,
    headers_ms: null,
    retry_after_ms: null,
    wait_ms: 0,
    budget_wait_ms: 0,
    bytes: 10,
    cost_usd: "0.01",
    credential: "",
    ...cache,
  };
  const request = { attempts: [attempt], latency_ms: 901, overhead_us: 500 };
  renderWithTheme(<Attempts request={request as unknown as Schema["RequestDetail"]} />);
}

it("shows the prompt-cache mark and its savings", () => {
  show({ cache_mark: "5m", cache_saved_usd: "0.045" });
  expect(screen.getByText("prompt-cache marker set for 5 minutes · saved $0.04500")).toBeTruthy();
});

it("shows the cost of writing to the cache", () => {
  show({ cache_mark: "1h", cache_saved_usd: "-0.0015" });
  expect(screen.getByText("prompt-cache marker set for 1 hour · write cost $0.001500")).toBeTruthy();
});

it("shows the cache key of a session", () => {
  show({ cache_key: "session_abc" });
  expect(screen.getByText("prompt_cache_key session_abc")).toBeTruthy();
});

it("shows nothing without a mark", () => {
  show({});
  expect(screen.queryByText(/prompt/)).toBeNull();
});
