import { MantineProvider } from "@mantine/core";
import { render, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";

import { renderWithTheme } from "../../lib/testRender";
import type { ProviderActions } from "./actions";
import { Credentials } from "./Credentials";
import { CircuitLine } from "./ProviderHealth";
import {
  type Credential,
  credentialSource,
  healthLook,
  hintText,
  inOrder,
  modelsText,
  needsReset,
  type Provider,
  testText,
  unhealthyTargets,
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
    backing_off_until: null,
    reason: null,
    reason_text: null,
    ...more,
  };
}

const circuit = (state: string) =>
  ({ target: state, model: state, health: { circuit: state } }) as Provider["targets"][number];

describe("modelsText", () => {
  it("counts the catalog models that the account may use", () => {
    expect(modelsText(provider("p", { available: 4, catalog: 55 }))).toBe(
      "4 of 55 catalog models available to this key",
    );
    expect(modelsText(provider("p", { available: 1, catalog: 1, targets: [circuit("closed")] }))).toBe(
      "1 model",
    );
  });
});

describe("inOrder", () => {
  it("lists unhealthy providers first and disabled ones last", () => {
    const list = [
      provider("off", { enabled: false }),
      provider("sim", { simulated: true }),
      provider("fine"),
      provider("down", { health: "down" }),
      provider("fine-too"),
    ];
    expect(inOrder(list).map((p) => p.name)).toEqual(["down", "fine", "fine-too", "sim", "off"]);
  });
});

describe("health", () => {
  it("is disabled regardless of circuits", () => {
    expect(healthLook(provider("p", { enabled: false, health: "down" })).word).toBe("Disabled");
    expect(healthLook(provider("p", { health: "degraded" })).word).toBe("Degraded");
  });

  it("lists open circuits before half-open ones and skips closed ones", () => {
    const p = provider("p", { targets: [circuit("closed"), circuit("half_open"), circuit("open")] });
    expect(unhealthyTargets(p).map((t) => t.model)).toEqual(["open", "half_open"]);
  });

  it("offers a reset only for open circuits and credentials that back off", () => {
    expect(needsReset(provider("p", { targets: [circuit("closed")] }))).toBe(false);
    expect(needsReset(provider("p", { targets: [circuit("open")] }))).toBe(true);
    const backingOff = credential("c", { backing_off_until: "2026-11-03T12:00:00Z" });
    expect(needsReset(provider("p", { credentials: [backingOff] }))).toBe(true);
  });
});

describe("credentials", () => {
  it("name their source", () => {
    expect(credentialSource("env OPENAI_API_KEY")).toMatchObject({ name: "OPENAI_API_KEY" });
    expect(credentialSource("OPENAI_API_KEY").fixed).toContain("OPENAI_API_KEY");
    expect(credentialSource("dashboard").fixed).toBeNull();
  });

  it("show an ellipsis before the last characters", () => {
    expect(hintText("f3Qa")).toBe("…f3Qa");
    expect(hintText("…f3Qa")).toBe("…f3Qa");
  });

  it("can be removed only if added in the dashboard", () => {
    const p = provider("acme", {
      credentials: [
        credential("a"),
        credential("b", { hint: "9xK2", source: "OPENAI_API_KEY", removable: false }),
      ],
    });
    show(<Credentials provider={p} editable rotate={rotate()} remove={remove()} />);
    expect(screen.getByRole("button", { name: "Remove credential …f3Qa" })).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Remove credential …9xK2" })).toBeNull();
    expect(screen.getByText("OPENAI_API_KEY")).toBeTruthy();
    expect(screen.getByRole("button", { name: "Rotate credential …f3Qa" })).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Rotate credential …9xK2" })).toBeNull();
    expect(
      screen.getByRole("img", { name: "Locked. Set by the environment variable OPENAI_API_KEY." }),
    ).toBeTruthy();
  });

  it("have no buttons without permission", () => {
    show(
      <Credentials
        provider={provider("acme", { credentials: [credential("a")] })}
        editable={false}
        rotate={rotate()}
        remove={remove()}
      />,
    );
    expect(screen.queryByRole("button")).toBeNull();
  });
});

describe("provider tests", () => {
  it("report the models or the exact error", () => {
    expect(
      testText({ ok: true, tested: true, latency_ms: 80, status: 200, models: ["a"], error: null }),
    ).toBe("Found 1 model.");
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
    ).toBe("No error message.");
  });

  it("do not report a failure when a provider cannot be tested", () => {
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

  it("show models and latency when passed", () => {
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

function rotate(): ProviderActions["rotate"] {
  return remove() as unknown as ProviderActions["rotate"];
}

function remove(): ProviderActions["remove"] {
  return {
    mutate: vi.fn(),
    reset: vi.fn(),
    isPending: false,
    error: null,
  } as unknown as ProviderActions["remove"];
}

it("a circuit is described in plain words", () => {
  const target = {
    target: "openai/gpt",
    model: "gpt",
    health: {
      circuit: "open",
      summary: "Paused after 5 failures in a row",
      since: "2026-11-15T12:00:00Z",
      reason_text: "timed out",
      next_probe: new Date(Date.now() + 11_500).toISOString(),
    },
  } as unknown as Provider["targets"][number];
  renderWithTheme(<CircuitLine target={target} />);
  expect(screen.getByRole("group", { name: "Circuit breaker for gpt" }).textContent).toMatch(
    /Paused after 5 failures in a row; next try in 1[12] s · timed out/,
  );
});

function show(node: React.ReactNode) {
  render(<MantineProvider>{node}</MantineProvider>);
}
