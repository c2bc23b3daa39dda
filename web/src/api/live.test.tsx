import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { LiveConnection } from "./live";

/** An EventSource that the test controls. */
class FakeSource {
  static created: FakeSource[] = [];
  static readonly CLOSED = 2;
  readyState = 0;
  onopen?: () => void;
  onerror?: () => void;
  listener?: (event: unknown) => void;

  constructor(readonly url: string) {
    FakeSource.created.push(this);
  }

  addEventListener(_name: string, listener: (event: unknown) => void) {
    this.listener = listener;
  }

  close() {
    this.readyState = 2;
  }

  send(ended: number, id = "") {
    this.listener?.({ lastEventId: id, data: JSON.stringify({ requests: [], ended, lost: 0 }) });
  }
}

const opened = () => FakeSource.created.filter((source) => source.readyState !== 2);
const latest = () => FakeSource.created.at(-1) as FakeSource;

function hide(hidden: boolean) {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}

let releases: (() => void)[] = [];

beforeEach(() => {
  FakeSource.created = [];
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", FakeSource);
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
  const unhold = live.hold();
  const release = () => {
    if (held) {
      held = false;
      unhold();
    }
  };
  releases.push(release);
  vi.runOnlyPendingTimers();
  latest().onopen?.();
  return { live, release };
}

test("one connection only counts requests until a page listens", () => {
  const { live, release } = start();
  expect(live.current).toBe("live");
  expect(latest().url).toContain("rows=none");

  const rows: number[] = [];
  const leave = live.listen({ model: "small" }, (batch) => rows.push(batch.ended));
  vi.runOnlyPendingTimers();
  expect(opened().map((source) => source.url)).toEqual(["/api/v1/requests/tail?model=small"]);
  latest().send(3);
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

test("listeners with the same parameters share the connection", () => {
  const { live } = start();
  const counted = [0, 0];
  live.listen({ rows: "none" }, (batch) => (counted[0] = batch.ended));
  live.listen({ rows: "none" }, (batch) => (counted[1] = batch.ended));
  vi.runOnlyPendingTimers();
  expect(FakeSource.created).toHaveLength(1);
  latest().send(2);
  expect(counted).toEqual([2, 2]);
});

test("a hidden tab closes the connection and later resumes from the last request", () => {
  const { live } = start();
  live.listen({}, () => undefined);
  vi.runOnlyPendingTimers();
  latest().send(1, "req_7");
  hide(true);
  expect(opened()).toEqual([]);
  expect(live.current).toBe("paused");
  hide(false);
  expect(opened()).toHaveLength(1);
  expect(latest().url).toContain("after=req_7");
  expect(live.current).toBe("connecting");
});

test("a pause survives hiding and showing the tab", () => {
  const { live } = start();
  live.pause(true);
  hide(true);
  hide(false);
  expect(opened()).toEqual([]);
  expect(live.current).toBe("paused");
  live.pause(false);
  expect(opened()).toHaveLength(1);
});

test("the browser reconnects a lost connection, and a rejected one is retried with backoff", () => {
  const { live } = start();
  latest().onerror?.();
  expect(live.current).toBe("reconnecting");
  expect(FakeSource.created).toHaveLength(1);

  for (const wait of [2000, 4000, 8000]) {
    latest().readyState = 2;
    latest().onerror?.();
    const before = FakeSource.created.length;
    vi.advanceTimersByTime(wait - 1);
    expect(FakeSource.created).toHaveLength(before);
    vi.advanceTimersByTime(1);
    expect(FakeSource.created).toHaveLength(before + 1);
    expect(live.current).toBe("reconnecting");
  }
  latest().onopen?.();
  expect(live.current).toBe("live");
});

test("an error of a closed connection does not change the state of the next one", () => {
  const { live } = start();
  const old = latest();
  live.listen({ model: "small" }, () => undefined);
  vi.runOnlyPendingTimers();
  latest().onopen?.();
  old.onerror?.();
  expect(live.current).toBe("live");
});
