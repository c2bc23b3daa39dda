import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type { Schema } from "../../api/client";
import { Channels } from "./Channels";
import { deliveryDetail } from "./History";
import { RuleDialog } from "./RuleDialog";
import { Rules } from "./Rules";
import { boundText, muteUntil, ruleBody, ruleDraft, withKind } from "./rules";

const kinds: Schema["AlertKind"][] = [
  {
    kind: "error_rate",
    name: "Error rate",
    unit: "percent",
    below: false,
    min: 0,
    max: 100,
    threshold: 5,
    windows: ["15m", "1h"],
    per_key: true,
    instance: false,
  },
  {
    kind: "quality",
    name: "Quality difference",
    unit: "points",
    below: true,
    min: -100,
    max: 100,
    threshold: -2,
    windows: ["30d"],
    per_key: false,
    instance: false,
  },
];

const rule: Schema["AlertRule"] = {
  id: "rule_1",
  name: "Errors",
  kind: "error_rate",
  threshold: 5,
  unit: "percent",
  window: "15m",
  key_id: null,
  channels: ["chan_1"],
  enabled: true,
  muted_until: null,
  state: "firing",
  values: [
    {
      subject: "",
      label: "",
      value: 12.5,
      text: "12.5 %",
      detail: "",
      firing: true,
      since: "2026-11-17T12:00:00Z",
      seen_at: "2026-11-17T12:00:00Z",
    },
  ],
  created_at: "2026-11-17T12:00:00Z",
};

const alerts: Schema["AlertList"] = {
  rules: [rule],
  channels: [
    {
      id: "chan_1",
      name: "ops",
      type: "webhook",
      target: "https://example.com/…",
      created_at: "2026-11-17T12:00:00Z",
    },
  ],
  kinds,
  email_available: false,
};

let sent: { method: string; path: string; body: unknown }[];

beforeEach(() => {
  sent = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    const path = new URL(request.url).pathname.replace("/api/v1", "");
    const text = await request.clone().text();
    sent.push({ method: request.method, path, body: text ? JSON.parse(text) : undefined });
    if (path === "/keys") {
      return Response.json({ keys: [] });
    }
    if (path.endsWith("/test")) {
      return Response.json({
        channel_id: "chan_1",
        channel_name: "ops",
        state: "failed",
        attempts: 1,
        error: "dead",
      });
    }
    return Response.json(request.method === "GET" ? alerts : rule);
  });
});

afterEach(() => vi.unstubAllGlobals());

function show(element: React.ReactNode) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>{element}</QueryClientProvider>
    </MantineProvider>,
  );
}

describe("RuleDialog", () => {
  it("adds a rule of another kind with its defaults", async () => {
    const user = userEvent.setup();
    const onClose = vi.fn();
    show(<RuleDialog alerts={alerts} editing="new" onClose={onClose} />);
    await user.click(screen.getByRole("combobox", { name: "Metric" }));
    await user.click(await screen.findByRole("option", { name: "Quality difference" }));
    await user.click(screen.getByRole("button", { name: "Add rule" }));
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(sent.find((call) => call.method === "POST")).toEqual({
      method: "POST",
      path: "/alerts/rules",
      body: { kind: "quality", threshold: -2, window: "30d", channels: [] },
    });
  });

  it("saves a changed rule without its kind", async () => {
    const user = userEvent.setup();
    const onClose = vi.fn();
    show(<RuleDialog alerts={alerts} editing={rule} onClose={onClose} />);
    await user.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(sent.find((call) => call.method === "PATCH")?.body).toEqual({
      name: "Errors",
      threshold: 5,
      window: "15m",
      key_id: null,
      channels: ["chan_1"],
    });
  });
});

describe("Rules", () => {
  it("shows the state and the value of a firing rule", () => {
    show(<Rules alerts={alerts} manages={false} onEdit={() => undefined} />);
    const row = screen.getByRole("row", { name: /Errors/ });
    expect(row.textContent).toContain("firing");
    expect(row.textContent).toContain("12.5 %");
    expect(row.textContent).toContain("≥ 5 %");
    expect(screen.queryByRole("button", { name: "Actions for Errors" })).toBeNull();
  });
});

describe("Channels", () => {
  it("sends a test", async () => {
    const user = userEvent.setup();
    show(<Channels alerts={alerts} manages />);
    await user.click(screen.getByRole("button", { name: "Send test to ops" }));
    await waitFor(() => expect(sent.at(-1)?.path).toBe("/alerts/channels/chan_1/test"));
  });
});

describe("rule drafts", () => {
  const [errorRate, quality] = kinds as [Schema["AlertKind"], Schema["AlertKind"]];

  it("keep name and channels when the kind changes", () => {
    const draft = { ...ruleDraft(errorRate), name: "x", channels: ["chan_1"], key: "key_1" };
    expect(withKind(draft, quality)).toEqual({
      name: "x",
      kind: "quality",
      threshold: -2,
      window: "30d",
      key: "",
      channels: ["chan_1"],
    });
  });

  it("require a threshold", () => {
    expect(ruleBody({ ...ruleDraft(errorRate), threshold: "" })).toBeUndefined();
  });

  it("have readable bounds", () => {
    expect(boundText({ kind: "quality", unit: "points", threshold: -2 }, kinds)).toBe("< -2 points");
    expect(boundText({ kind: "spend", unit: "usd", threshold: 1500 }, kinds)).toBe("≥ $1,500");
  });
});

it("computes the end of a mute", () => {
  expect(muteUntil(8, new Date("2026-11-17T12:00:00Z"))).toBe("2026-11-17T20:00:00.000Z");
});

it("describes deliveries", () => {
  const delivery = {
    channel_id: "c",
    channel_name: "ops",
    state: "failed",
    attempts: 6,
    updated_at: "",
  } as const;
  expect(deliveryDetail({ ...delivery, next_at: null, error: "dead" })).toBe("6 attempts. Last error: dead");
});
