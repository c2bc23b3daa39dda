import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { LiveConnection } from "./live";

/** An event stream of which the test is the other end. */
class Source {
  static made: Source[] = [];
  static readonly CLOSED = 2;
  readyState = 0;
  onopen?: () => void;
  onerror?: () => void;
  heard?: (event: unknown) => void;

  constructor(readonly url: string) {
    Source.made.push(this);
  }

  addEventListener(_name: string, heard: (event: unknown) => void) {
    this.heard = heard;
  }

  close() {
    this.readyState = 2;
  }

  tell(ended: number, id = "") {
    this.heard?.({ lastEventId: id, data: JSON.stringify({ requests: [], ended, lost: 0 }) });
  }
}

const opened = () => Source.made.filter((source) => source.readyState !== 2);
const latest = () => Source.made.at(-1) as Source;

function hide(hidden: boolean) {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}

let releases: (() => void)[] = [];

beforeEach(() => {
  Source.made = [];
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", Source);
});

afterEach(() => {
  releases.forEach((release) => release());
  releases = [];
  hide(false);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function start() {
  const live = new LiveConnection();
  let held = true;
  const letGo = live.hold();
  const release = () => {
    if (held) {
      held = false;
      letGo();
    }
  };
  releases.push(release);
  vi.runOnlyPendingTimers();
  latest().onopen?.();
  return { live, release };
}

test("there is one connection, which only counts until a page watches requests", () => {
  const { live, release } = start();
  expect(live.current).toBe("live");
  expect(latest().url).toContain("rows=none");

  const rows: number[] = [];
  const leave = live.listen({ model: "small" }, (batch) => rows.push(batch.ended));
  vi.runOnlyPendingTimers();
  expect(opened().map((source) => source.url)).toEqual(["/api/v1/requests/tail?model=small"]);
  latest().tell(3);
  expect(rows).toEqual([3]);

  leave();
  vi.runOnlyPendingTimers();
  expect(opened()).toHaveLength(1);
  expect(latest().url).toContain("rows=none");
  release();
  vi.runOnlyPendingTimers();
  expect(opened()).toEqual([]);
  expect(live.current).toBe("off");
});

test("listeners of the same requests share the connection", () => {
  const { live } = start();
  const counted = [0, 0];
  live.listen({ rows: "none" }, (batch) => (counted[0] = batch.ended));
  live.listen({ rows: "none" }, (batch) => (counted[1] = batch.ended));
  vi.runOnlyPendingTimers();
  expect(Source.made).toHaveLength(1);
  latest().tell(2);
  expect(counted).toEqual([2, 2]);
});

test("a hidden tab has no connection and goes on from the last request afterwards", () => {
  const { live } = start();
  live.listen({}, () => undefined);
  vi.runOnlyPendingTimers();
  latest().tell(1, "req_7");
  hide(true);
  expect(opened()).toEqual([]);
  expect(live.current).toBe("paused");
  hide(false);
  expect(opened()).toHaveLength(1);
  expect(latest().url).toContain("after=req_7");
  expect(live.current).toBe("connecting");
});

test("the person's pause outlasts a change of tabs", () => {
  const { live } = start();
  live.pause(true);
  hide(true);
  hide(false);
  expect(opened()).toEqual([]);
  expect(live.current).toBe("paused");
  live.pause(false);
  expect(opened()).toHaveLength(1);
});

test("a broken line is left to the browser, a refusal is tried again less and less often", () => {
  const { live } = start();
  latest().onerror?.();
  expect(live.current).toBe("reconnecting");
  expect(Source.made).toHaveLength(1);

  for (const wait of [2000, 4000, 8000]) {
    latest().readyState = 2;
    latest().onerror?.();
    const before = Source.made.length;
    vi.advanceTimersByTime(wait - 1);
    expect(Source.made).toHaveLength(before);
    vi.advanceTimersByTime(1);
    expect(Source.made).toHaveLength(before + 1);
    expect(live.current).toBe("reconnecting");
  }
  latest().onopen?.();
  expect(live.current).toBe("live");
});

test("an error of a connection that was left says nothing about the next one", () => {
  const { live } = start();
  const old = latest();
  live.listen({ model: "small" }, () => undefined);
  vi.runOnlyPendingTimers();
  latest().onopen?.();
  old.onerror?.();
  expect(live.current).toBe("live");
});
