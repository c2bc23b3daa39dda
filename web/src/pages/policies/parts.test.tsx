import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, test, vi } from "vitest";

import type { Schema } from "../../api/client";
import type { Policy } from "../../api/routing";
import { renderWithTheme } from "../../lib/testRender";
import { Condition } from "./Condition";
import { comparison } from "./ConditionField";
import { DiffView, diffCount } from "./DiffView";
import { Matrix } from "./Matrix";
import { matrixOf, signed } from "./matrix";
import { PolicyForm } from "./PolicyForm";
import { PolicyList } from "./PolicyList";

describe("Condition", () => {
  it("is described in words with emphasised values if it is simple", () => {
    const { container } = renderWithTheme(
      <p>
        <Condition when={'request.task == "code"'} />
      </p>,
    );
    expect(container.querySelector("p")?.textContent).toBe("If task is code");
    expect(container.querySelector("em")?.textContent).toBe("code");
  });

  it("is shown as CEL otherwise", () => {
    const { container } = renderWithTheme(<Condition when={"size(key.tags) > 2"} />);
    expect(container.querySelector("code")?.textContent).toBe("size(key.tags) > 2");
  });

  it("is “Always” for a policy without one", () => {
    renderWithTheme(<Condition when={undefined} />);
    expect(screen.getByText("Always")).toBeTruthy();
  });
});

describe("DiffView", () => {
  const lines: Schema["DiffLine"][] = [
    { kind: "gap", old_line: null, new_line: null, text: "" },
    { kind: "same", old_line: 4, new_line: 4, text: "  - name: a" },
    { kind: "removed", old_line: 5, new_line: null, text: "    pin: x" },
    { kind: "added", old_line: null, new_line: 5, text: "    pin: y" },
    { kind: "added", old_line: null, new_line: 6, text: "    baseline: x" },
  ];

  it("marks lines by signs and words, not by colour alone", () => {
    renderWithTheme(<DiffView lines={lines} label="Changes" />);
    const rows = within(screen.getByRole("region", { name: "Changes" })).getAllByRole("row");
    expect(rows.map((row) => row.textContent)).toEqual([
      "⋯ unchanged lines",
      "44    - name: a",
      "5− removed:     pin: x",
      "5+ added:     pin: y",
      "6+ added:     baseline: x",
    ]);
  });

  it("counts the changes and shows when there are none", () => {
    expect(diffCount(lines)).toBe("2 lines added, 1 removed");
    renderWithTheme(<DiffView lines={[]} label="Changes" />);
    expect(screen.getByText("No differences.")).toBeTruthy();
  });
});

describe("Matrix", () => {
  const route = (from: string, to: string, requests: number) => ({
    from,
    to,
    requests,
    priced: requests,
    change_usd: "0",
  });
  const routes = [
    route("big", "small", 40),
    route("mid", "small", 10),
    route("big", "", 3),
    route("*", "*", 7),
  ];

  it("puts the models with the most requests first", () => {
    const matrix = matrixOf(routes);
    expect([matrix.from, matrix.to, matrix.most]).toEqual([["big", "mid"], ["small", ""], 40]);
    expect(matrix.at("big", "")?.requests).toBe(3);
    expect(matrix.at("mid", "")).toBeUndefined();
    expect(matrix.rest?.requests).toBe(7);
  });

  it("shows each number in its row and column, with a shade by share", () => {
    renderWithTheme(<Matrix routes={routes} />);
    const rows = screen.getAllByRole("row");
    expect(rows.map((row) => [...row.children].map((cell) => cell.textContent))).toEqual([
      ["From ↓ To →", "small", "rejected"],
      ["big", "40", "3"],
      ["mid", "10", ""],
    ]);
    expect(screen.getByText("40").style.getPropertyValue("--share")).toBe("1");
    expect(screen.getByText("10").style.getPropertyValue("--share")).toBe("0.25");
    expect(screen.getByText("7 requests with other, less frequent model changes.")).toBeTruthy();
  });

  it("shows when no model changes", () => {
    renderWithTheme(<Matrix routes={[]} />);
    expect(screen.getByText("No request would use a different model.")).toBeTruthy();
  });
});

test("a change has its sign", () => {
  expect([0.0123, -0.2, 0.0001, 0].map((value) => signed(value))).toEqual([
    "+0.012",
    "−0.200",
    "±0.000",
    "±0.000",
  ]);
});

test("a comparison is written by the type of its field", () => {
  const field = (name: string, type: string) => ({ name, type, doc: "", values: [] });
  expect(comparison(field("request.task", "text"), "", "==", 'a"b')).toBe('request.task == "a\\"b"');
  expect(comparison(field("request.tokens", "number"), "", ">=", "5")).toBe("request.tokens >= 5");
  expect(comparison(field("key.tags", "map of text"), "team", "!=", "x")).toBe('key.tags["team"] != "x"');
  expect(comparison(field("request.auto", "true or false"), "", "!=", "true")).toBe("!request.auto");
});

describe("PolicyList", () => {
  const policies: Policy[] = [
    { name: "one", pin: "a" },
    { name: "two", objective: "cost", enabled: false },
  ];

  function show(onChange = vi.fn()) {
    renderWithTheme(
      <PolicyList
        policies={policies}
        hits={undefined}
        source="workspace"
        editing={{
          problems: undefined,
          opened: undefined,
          onOpen: () => undefined,
          onChange,
          form: () => null,
        }}
      />,
    );
    return onChange;
  }

  it("moves by keyboard and announces the position", async () => {
    const onChange = show();
    const user = userEvent.setup();
    screen.getByRole("button", { name: /^Move two/ }).focus();
    await user.keyboard("{Alt>}{ArrowUp}{/Alt}");
    expect(onChange).toHaveBeenCalledWith([policies[1], policies[0]]);
    expect(screen.getByRole("status").textContent).toBe("Moved two to position 1 of 2");
  });

  it("does not move past the end", async () => {
    const onChange = show();
    const user = userEvent.setup();
    screen.getByRole("button", { name: /^Move two/ }).focus();
    await user.keyboard("{Alt>}{ArrowDown}{/Alt}");
    expect(onChange).not.toHaveBeenCalled();
  });

  it("enables and disables policies", async () => {
    const onChange = show();
    const user = userEvent.setup();
    await user.click(screen.getByRole("switch", { name: "Enable one" }));
    expect(onChange).toHaveBeenLastCalledWith([{ name: "one", pin: "a", enabled: false }, policies[1]]);
    await user.click(screen.getByRole("switch", { name: "Enable two" }));
    expect(onChange).toHaveBeenLastCalledWith([policies[0], { name: "two", objective: "cost" }]);
  });

  it("has no controls when read-only", () => {
    renderWithTheme(<PolicyList policies={policies} hits={undefined} source="instance" />);
    expect(screen.queryAllByRole("button")).toEqual([]);
    expect(screen.queryAllByRole("switch")).toEqual([]);
    expect(screen.getByText("Disabled")).toBeTruthy();
  });
});

describe("PolicyForm", () => {
  const policySet = { fields: [], names: { models: ["big"], providers: [], targets: [], tags: [] } };

  it("adds effects, but none in addition to deny", async () => {
    const onChange = vi.fn();
    const user = userEvent.setup();
    const { rerender } = renderWithTheme(
      <PolicyForm policy={{ name: "a" }} policySet={policySet} problems={{}} onChange={onChange} />,
    );
    await user.click(screen.getByRole("button", { name: "Add effect" }));
    await user.click(await screen.findByRole("menuitem", { name: "Deny requests" }));
    expect(onChange).toHaveBeenCalledWith({ name: "a", deny: "" });
    rerender(<></>);
    renderWithTheme(
      <PolicyForm
        policy={{ name: "a", deny: "No." }}
        policySet={policySet}
        problems={{}}
        onChange={onChange}
      />,
    );
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Add effect" }).disabled).toBe(true);
  });

  it("shows each problem at its field", () => {
    renderWithTheme(
      <PolicyForm
        policy={{ name: "A", pin: "bg" }}
        policySet={policySet}
        problems={{ name: "not well-formed", pin: 'unknown model "bg"' }}
        onChange={() => undefined}
      />,
    );
    expect(screen.getByRole("textbox", { name: "Name" }).getAttribute("aria-invalid")).toBe("true");
    expect(screen.getByText('unknown model "bg"')).toBeTruthy();
  });
});
