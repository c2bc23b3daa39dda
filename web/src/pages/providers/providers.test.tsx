import { MantineProvider } from "@mantine/core";
import { render, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";

import type { ProviderActions } from "./actions";
import { Credentials } from "./Credentials";
import {
  type Credential,
  credentialSource,
  healthLook,
  hintText,
  inOrder,
  needsReset,
  type Provider,
  testText,
  troubled,
} from "./providers";
import { TestResult } from "./TestResult";

function provider(name: string, more: Partial<Provider> = {}): Provider {
  return {
    name,
    title: name,
    enabled: true,
    simulated: false,
    health: "ok",
    credentials: [],
    targets: [],
    ...more,
  } as Provider;
}

function credential(id: string, more: Partial<Credential> = {}): Credential {
  return {
    id,
    hint: "…f3Qa",
    source: "dashboard",
    removable: true,
    resting_until: null,
    reason: null,
    reason_text: null,
    ...more,
  };
}

const circuit = (state: string) =>
  ({ target: state, model: state, health: { circuit: state } }) as Provider["targets"][number];

describe("inOrder", () => {
  it("shows what needs attention first and what is off last", () => {
    const list = [
      provider("off", { enabled: false }),
      provider("sim", { simulated: true }),
      provider("fine"),
      provider("ill", { health: "down" }),
      provider("fine-too"),
    ];
    expect(inOrder(list).map((p) => p.name)).toEqual(["ill", "fine", "fine-too", "sim", "off"]);
  });
});

describe("health", () => {
  it("is off before it is anything else", () => {
    expect(healthLook(provider("p", { enabled: false, health: "down" })).word).toBe("off");
    expect(healthLook(provider("p", { health: "degraded" })).word).toBe("degraded");
  });

  it("lists open circuits before half-open ones, and no closed ones", () => {
    const p = provider("p", { targets: [circuit("closed"), circuit("half_open"), circuit("open")] });
    expect(troubled(p).map((t) => t.model)).toEqual(["open", "half_open"]);
  });

  it("offers a reset only when there is something to end", () => {
    expect(needsReset(provider("p", { targets: [circuit("closed")] }))).toBe(false);
    expect(needsReset(provider("p", { targets: [circuit("open")] }))).toBe(true);
    const resting = credential("c", { resting_until: "2026-11-03T12:00:00Z" });
    expect(needsReset(provider("p", { credentials: [resting] }))).toBe(true);
  });
});

describe("credentials", () => {
  it("names the place where each is changed", () => {
    expect(credentialSource("env OPENAI_API_KEY")).toMatchObject({ name: "OPENAI_API_KEY" });
    expect(credentialSource("OPENAI_API_KEY").fixed).toContain("OPENAI_API_KEY");
    expect(credentialSource("dashboard").fixed).toBeNull();
  });

  it("marks the hint as an end once", () => {
    expect(hintText("f3Qa")).toBe("…f3Qa");
    expect(hintText("…f3Qa")).toBe("…f3Qa");
  });

  it("lets only those of the dashboard be removed", () => {
    const p = provider("acme", {
      credentials: [
        credential("a"),
        credential("b", { hint: "9xK2", source: "OPENAI_API_KEY", removable: false }),
      ],
    });
    show(<Credentials provider={p} editable remove={remove()} />);
    expect(screen.getByRole("button", { name: "Remove credential …f3Qa" })).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Remove credential …9xK2" })).toBeNull();
    expect(screen.getByText("OPENAI_API_KEY")).toBeTruthy();
    expect(screen.getByText("read-only")).toBeTruthy();
  });

  it("shows no button to those who may not change them", () => {
    show(
      <Credentials
        provider={provider("acme", { credentials: [credential("a")] })}
        editable={false}
        remove={remove()}
      />,
    );
    expect(screen.queryByRole("button")).toBeNull();
  });
});

describe("tests of providers", () => {
  it("tells what was found, or exactly what went wrong", () => {
    expect(
      testText({ ok: true, tested: true, latency_ms: 80, status: 200, models: ["a"], error: null }),
    ).toBe("Answered with 1 model.");
    expect(
      testText({
        ok: false,
        tested: true,
        latency_ms: 80,
        status: 401,
        models: [],
        error: "Incorrect API key.",
      }),
    ).toBe("Incorrect API key. (status 401)");
    expect(
      testText({ ok: false, tested: true, latency_ms: null, status: null, models: [], error: null }),
    ).toBe("No reason was given.");
  });

  it("does not call it a failure where there is nothing to test", () => {
    const result = {
      ok: false,
      tested: false,
      latency_ms: null,
      status: null,
      models: [],
      error: "Amazon Bedrock lists no models.",
    };
    show(<TestResult title="bedrock" result={result} error={null} onClose={vi.fn()} />);
    expect(screen.getByText("Not tested")).toBeTruthy();
    expect(screen.getByText("Amazon Bedrock lists no models.")).toBeTruthy();
    expect(screen.queryByText(/failed/)).toBeNull();
  });

  it("shows the models and the latency of a test that passed", () => {
    const result = {
      ok: true,
      tested: true,
      latency_ms: 81,
      status: 200,
      models: ["acme-large"],
      error: null,
    };
    show(<TestResult title="acme" result={result} error={null} onClose={vi.fn()} />);
    expect(screen.getByText(/passed in 81 ms/)).toBeTruthy();
    expect(screen.getByText("acme-large")).toBeTruthy();
  });
});

function remove(): ProviderActions["remove"] {
  return {
    mutate: vi.fn(),
    reset: vi.fn(),
    isPending: false,
    error: null,
  } as unknown as ProviderActions["remove"];
}

function show(node: React.ReactNode) {
  render(<MantineProvider>{node}</MantineProvider>);
}
