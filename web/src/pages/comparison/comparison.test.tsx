import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type { Schema } from "../../api/client";
import { ComparisonDialog } from "./ComparisonDialog";
import { comparisonBody, comparisonDraft } from "./draft";

const off: Schema["ComparisonState"] = {
  compared: 0,
  unjudged: 0,
  failed: 0,
  cost_usd: "0",
  dropped: 0,
  judge_prompt: "judge-1",
};

const model = (name: string) => ({ name, kind: "chat", targets: [{}] });

let state: Schema["ComparisonState"];
let sent: { method: string; path: string; body: unknown }[];
let refuse: unknown;

beforeEach(() => {
  state = off;
  sent = [];
  refuse = undefined;
  vi.stubGlobal("fetch", async (request: Request) => {
    const path = new URL(request.url).pathname.replace("/api/v1", "");
    const text = await request.clone().text();
    const body = (text ? JSON.parse(text) : undefined) as { settings: Schema["ComparisonSettings"] | null };
    sent.push({ method: request.method, path, body });
    if (path === "/models") {
      return Response.json({ models: [model("best"), model("other")] });
    }
    if (request.method === "PUT") {
      if (refuse) {
        return Response.json(refuse, { status: 400 });
      }
      state = { ...state, settings: body.settings ?? undefined };
    }
    return Response.json(state);
  });
});

afterEach(() => vi.unstubAllGlobals());

function show() {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const onClose = vi.fn();
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>
        <ComparisonDialog opened onClose={onClose} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return onClose;
}

describe("ComparisonDialog", () => {
  it("starts the comparison", async () => {
    const user = userEvent.setup();
    const onClose = show();
    const start = await screen.findByRole("button", { name: "Start comparison" });
    expect(start.hasAttribute("disabled")).toBe(true);
    await user.click(screen.getByRole("combobox", { name: /Baseline model/ }));
    await user.click(await screen.findByRole("option", { name: "best" }));
    await user.click(start);
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(sent.find((call) => call.method === "PUT")?.body).toEqual({
      settings: { share: 0.05, holdout: 0, baseline: "best", budget_usd: "10", judge: "", hook: "" },
    });
  });

  it("ends a comparison", async () => {
    state = { ...off, settings: { share: 0.1, baseline: "best", budget_usd: "5" } };
    const user = userEvent.setup();
    const onClose = show();
    await user.click(await screen.findByRole("button", { name: "End comparison" }));
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(sent.find((call) => call.method === "PUT")?.body).toEqual({ settings: null });
  });

  it("shows why a judge cannot be used", async () => {
    state = {
      ...off,
      settings: { share: 0.1, baseline: "best", budget_usd: "5", judge: "other" },
      judge: {
        model: "other",
        prompt: "judge-1",
        measured_at: "2026-11-17T00:00:00Z",
        pairs: 32,
        position: 80,
        corrected: 0,
        length: 0,
        family: 0,
        accuracy: 0.2,
        refused: "It prefers the position of a response by 80.0 points.",
      },
    };
    show();
    await screen.findByText(/This judge cannot be used\. It prefers the position/);
  });
});

describe("comparisonBody", () => {
  const draft = { ...comparisonDraft(undefined), baseline: "best" };
  it.each([
    ["valid", {}, true],
    ["no share", { share: 0 }, false],
    ["too large", { share: 80, holdout: 30 }, false],
    ["no baseline", { baseline: "" }, false],
    ["no budget", { budget: "0" }, false],
    ["not a number", { budget: "ten" }, false],
  ] as const)("%s", (_, change, valid) => {
    expect(comparisonBody({ ...draft, ...change }) !== undefined).toBe(valid);
  });

  it("keeps the settings", () => {
    const settings = {
      share: 0.025,
      holdout: 0.01,
      baseline: "b",
      budget_usd: "12.5",
      judge: "j",
      hook: "https://x",
    };
    expect(comparisonBody(comparisonDraft(settings))).toEqual(settings);
  });
});
