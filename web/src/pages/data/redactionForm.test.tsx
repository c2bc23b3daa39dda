import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type { Schema } from "../../api/client";
import { RedactionForm } from "./RedactionForm";

const settings = {
  redaction: {
    default: ["card"],
    builtin: [
      { name: "email", description: "Addresses." },
      { name: "card", description: "Numbers." },
    ],
  },
} as Schema["SettingsView"];

let sent: { method: string; path: string; body: unknown }[];
let respond: (path: string, body: unknown) => { status: number; body: unknown };

beforeEach(() => {
  sent = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    const text = await request.clone().text();
    const path = new URL(request.url).pathname.replace("/api/v1", "");
    const body: unknown = text ? JSON.parse(text) : undefined;
    sent.push({ method: request.method, path, body });
    const response = respond(path, body);
    return new Response(JSON.stringify(response.body), { status: response.status });
  });
});

afterEach(() => vi.unstubAllGlobals());

function show(redaction?: Schema["RedactionView"], editable = true) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  return render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>
        <RedactionForm
          workspace={{ redaction } as Schema["WorkspaceView"]}
          settings={settings}
          editable={editable}
        />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

describe("RedactionForm", () => {
  it("starts with the gateway's rules and saves custom ones", async () => {
    let saved: unknown;
    respond = (_, body) => {
      saved = body ? (body as { redaction: unknown }).redaction : saved;
      return { status: 200, body: { redaction: saved } };
    };
    const user = userEvent.setup();
    show();
    expect(screen.queryByRole("switch", { name: /^email/ })).toBeNull();
    expect(screen.getByRole("button", { name: "Save rules" }).hasAttribute("disabled")).toBe(true);
    await user.click(screen.getByRole("switch", { name: /^Use the gateway/ }));
    expect(screen.getByRole<HTMLInputElement>("switch", { name: /^card/ }).checked).toBe(true);
    await user.click(screen.getByRole("switch", { name: /^email/ }));
    await user.click(screen.getByRole("button", { name: "Add rule" }));
    await user.type(screen.getByLabelText("Name of rule 1"), "ticket");
    await user.type(screen.getByLabelText("Pattern of rule 1"), "T-1");
    await user.click(screen.getByRole("button", { name: "Save rules" }));
    await waitFor(() => expect(sent.map((call) => call.method)).toEqual(["PATCH", "GET"]));
    expect(sent[0]?.body).toEqual({
      redaction: { builtin: ["email", "card"], custom: [{ name: "ticket", pattern: "T-1" }] },
    });
  });

  it("shows each problem at its field", async () => {
    respond = () => ({
      status: 400,
      body: {
        error: "The request is not valid",
        code: "INVALID_REQUEST",
        details: {
          request_id: "req_1",
          problems: [{ in: "body", param: "redaction.custom[0].pattern", message: 'rule "a": missing )' }],
        },
      },
    });
    const user = userEvent.setup();
    show({ builtin: [], custom: [{ name: "a", pattern: "(" }] });
    await user.click(screen.getByRole("switch", { name: /^email/ }));
    await user.click(screen.getByRole("button", { name: "Save rules" }));
    expect(await screen.findByText('rule "a": missing )')).toBeTruthy();
    expect(screen.queryByText("Could not save the rules")).toBeNull();
    await user.click(screen.getByRole("button", { name: "Remove rule a" }));
    expect(screen.queryByLabelText("Name of rule 1")).toBeNull();
  });

  it("tests unsaved rules after a pause in typing", async () => {
    respond = () => ({ status: 200, body: { text: "I am [redacted: email]", counts: { email: 1 } } });
    const user = userEvent.setup();
    show({ builtin: ["email"], custom: [] });
    await user.type(screen.getByLabelText("Test the rules"), "I am x@y.de");
    expect((await screen.findByText("[redacted: email]")).tagName).toBe("MARK");
    expect(screen.getByText("1 redaction: email 1.")).toBeTruthy();
    const last = sent.at(-1);
    expect(last?.path).toBe("/workspace/redaction/test");
    expect(last?.body).toEqual({ text: "I am x@y.de", rules: { builtin: ["email"], custom: [] } });
    expect(sent.length).toBeLessThan(5); // the count excludes one call per keystroke
  });

  it("is read-only without permission", () => {
    show({ builtin: ["email"], custom: [{ name: "a", pattern: "b" }] }, false);
    expect(screen.getByRole<HTMLInputElement>("switch", { name: /^email/ }).disabled).toBe(true);
    expect(screen.queryByRole("button")).toBeNull();
    expect(screen.queryByLabelText("Test the rules")).toBeNull();
  });
});
