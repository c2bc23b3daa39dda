import { describe, expect, it } from "vitest";

import type { Schema } from "../../api/client";
import { addBatch, maxRows, mergeRows, noUpdates, showWaiting } from "./live";

type Row = Schema["RequestRow"];

const row = (id: string, state: Row["state"] = "done") => ({ id, state }) as Row;
const ids = (rows: Row[]) => rows.map((r) => `${r.id}${r.state === "running" ? "…" : ""}`);

describe("the live list", () => {
  it("adds new requests on top, without duplicates", () => {
    const listed = [row("2"), row("1")];
    let live = addBatch(noUpdates, [row("3", "running")], new Set(["1", "2"]), false);
    expect(ids(mergeRows(live, listed))).toEqual(["3…", "2", "1"]);
    live = addBatch(live, [row("3"), row("4", "running")], new Set(["1", "2"]), false);
    expect(ids(mergeRows(live, listed))).toEqual(["4…", "3", "2", "1"]);
    expect(ids(mergeRows(live, [row("3"), ...listed]))).toEqual(["4…", "3", "2", "1"]);
  });

  it("is ordered by start time, not by end time", () => {
    const live = addBatch(noUpdates, [row("5"), row("3"), row("4")], new Set(["2"]), false);
    expect(ids(mergeRows(live, [row("2")]))).toEqual(["5", "4", "3", "2"]);
  });

  it("keeps the server's order without updates", () => {
    expect(ids(mergeRows(noUpdates, [row("1"), row("9"), row("4")]))).toEqual(["1", "9", "4"]);
  });

  it("updates a running request in place", () => {
    const listed = [row("2", "running"), row("1")];
    const live = addBatch(noUpdates, [row("2")], new Set(["1", "2"]), true);
    expect(ids(mergeRows(live, listed))).toEqual(["2", "1"]);
    expect(live.waiting).toEqual([]);
  });

  it("holds new requests back while paused", () => {
    const live = addBatch(noUpdates, [row("3"), row("4", "running")], new Set(), true);
    expect(mergeRows(live, [])).toEqual([]);
    expect(ids(addBatch(live, [row("4")], new Set(), true).waiting)).toEqual(["4", "3"]);
    expect(ids(mergeRows(showWaiting(live), []))).toEqual(["4…", "3"]);
  });

  it("keeps a limited number of rows", () => {
    const many = Array.from({ length: maxRows + 20 }, (_, i) => row(String(i)));
    const live = addBatch(noUpdates, many, new Set(), false);
    expect(live.shown).toHaveLength(maxRows);
    expect(live.shown[0]?.id).toBe(String(maxRows + 19));
  });
});
