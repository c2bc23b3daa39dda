import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

import { agents, connectCommand } from "./agents";

describe("agents", () => {
  it("are those of the command line", () => {
    const source = readFileSync("../internal/cli/connect/agents.go", "utf8");
    const known = [...source.matchAll(/name: "([^"]+)", title: "([^"]+)", program:/g)];
    expect(agents).toEqual(known.map(([, value, label]) => ({ value, label })));
  });
});

describe("connectCommand", () => {
  it.each([
    ["http://127.0.0.1:8080/proxy/v1", "fl_abc", "fairlead connect pi"],
    ["http://localhost:9090/proxy/v1", "fl_abc", "fairlead connect pi --server http://localhost:9090"],
    [
      "https://gw.example.com/proxy/v1",
      "fl_abc",
      "FAIRLEAD_API_KEY=fl_abc fairlead connect pi --server https://gw.example.com",
    ],
    [
      "https://gw.example.com/proxy/v1",
      undefined,
      "FAIRLEAD_API_KEY=fl_… fairlead connect pi --server https://gw.example.com",
    ],
  ])("names the gateway at %s", (baseUrl, key, want) => {
    expect(connectCommand("pi", baseUrl, key)).toBe(want);
  });
});
