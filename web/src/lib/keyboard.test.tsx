import { render } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { activeShortcuts, type Shortcut, useShortcuts } from "./keyboard";

const run = vi.fn<(keys: string) => void>();

function Page({ keys, always }: { keys: string[]; always?: boolean }) {
  useShortcuts(keys.map((k): Shortcut => ({ keys: k, label: k, always, run: () => run(k) })));
  return <input aria-label="field" />;
}

let now = 0;

function press(
  key: string,
  options: KeyboardEventInit & { target?: Element; after?: number } = {},
): KeyboardEvent {
  now += options.after ?? 10;
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...options });
  Object.defineProperty(event, "timeStamp", { value: now });
  (options.target ?? document.body).dispatchEvent(event);
  return event;
}

beforeEach(() => run.mockReset());
afterEach(() => {
  now += 10_000;
});

describe("useShortcuts", () => {
  it("runs a single key and prevents its default action", () => {
    render(<Page keys={["j", "?"]} />);
    expect(press("j").defaultPrevented).toBe(true);
    press("?");
    press("x");
    expect(run.mock.calls).toEqual([["j"], ["?"]]);
  });

  it("runs a sequence only within its time limit", () => {
    render(<Page keys={["g r"]} />);
    press("g");
    press("r", { after: 1000 });
    expect(run).toHaveBeenCalledOnce();
    press("g");
    press("r", { after: 1300 });
    expect(run).toHaveBeenCalledOnce();
  });

  it("prefers a sequence over a single key", () => {
    render(<Page keys={["g r", "r"]} />);
    press("g");
    press("r");
    press("r");
    expect(run.mock.calls).toEqual([["g r"], ["r"]]);
  });

  it.each<[KeyboardEventInit]>([[{ ctrlKey: true }], [{ metaKey: true }]])("treats %o as mod", (modifier) => {
    render(<Page keys={["mod+k", "k"]} />);
    press("k", modifier);
    expect(run.mock.calls).toEqual([["mod+k"]]);
  });

  it("is off while typing, except for shortcuts that are always active", () => {
    const { container, unmount } = render(<Page keys={["j"]} />);
    press("j", { target: container.querySelector("input") ?? undefined });
    expect(run).not.toHaveBeenCalled();
    unmount();
    const page = render(<Page keys={["mod+k"]} always />);
    press("k", { ctrlKey: true, target: page.container.querySelector("input") ?? undefined });
    expect(run).toHaveBeenCalledOnce();
  });

  it("ignores an event that was already handled", () => {
    render(<Page keys={["j"]} />);
    const handler = (event: Event) => event.preventDefault();
    document.body.addEventListener("keydown", handler);
    press("j");
    document.body.removeEventListener("keydown", handler);
    expect(run).not.toHaveBeenCalled();
  });

  it("stops when the component is unmounted", () => {
    render(<Page keys={["j"]} />).unmount();
    press("j");
    expect(run).not.toHaveBeenCalled();
  });
});

describe("activeShortcuts", () => {
  it("lists the shortcuts of mounted components, each key once", () => {
    const first = render(<Page keys={["j", "k"]} />);
    render(<Page keys={["k", "l"]} />);
    expect(activeShortcuts().map(({ keys }) => keys)).toEqual(["j", "k", "l"]);
    first.unmount();
    expect(activeShortcuts().map(({ keys }) => keys)).toEqual(["k", "l"]);
  });
});
