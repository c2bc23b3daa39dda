import { describe, expect, it } from "vitest";

import type { Schema } from "../../api/client";
import { addNews, keptRows, mergeRows, noNews, settle } from "./live";

type Row = Schema["RequestRow"];

const row = (id: string, state: Row["state"] = "done") => ({ id, state }) as Row;
const ids = (rows: Row[]) => rows.map((r) => `${r.id}${r.state === "running" ? "…" : ""}`);

describe("the live list", () => {
  it("puts new requests on top, each once", () => {
    const listed = [row("2"), row("1")];
    let live = addNews(noNews, [row("3", "running")], new Set(["1", "2"]), false);
    expect(ids(mergeRows(live, listed))).toEqual(["3…", "2", "1"]);
    live = addNews(live, [row("3"), row("4", "running")], new Set(["1", "2"]), false);
    expect(ids(mergeRows(live, listed))).toEqual(["4…", "3", "2", "1"]);
    expect(ids(mergeRows(live, [row("3"), ...listed]))).toEqual(["4…", "3", "2", "1"]);
  });

  it("is ordered by time, whichever request ended first", () => {
    const live = addNews(noNews, [row("5"), row("3"), row("4")], new Set(["2"]), false);
    expect(ids(mergeRows(live, [row("2")]))).toEqual(["5", "4", "3", "2"]);
  });

  it("leaves another order alone while there is nothing new", () => {
    expect(ids(mergeRows(noNews, [row("1"), row("9"), row("4")]))).toEqual(["1", "9", "4"]);
  });

  it("settles a running request of the list in place", () => {
    const listed = [row("2", "running"), row("1")];
    const live = addNews(noNews, [row("2")], new Set(["1", "2"]), true);
    expect(ids(mergeRows(live, listed))).toEqual(["2", "1"]);
    expect(live.waiting).toEqual([]);
  });

  it("holds new requests back while somebody reads", () => {
    const live = addNews(noNews, [row("3"), row("4", "running")], new Set(), true);
    expect(mergeRows(live, [])).toEqual([]);
    expect(ids(addNews(live, [row("4")], new Set(), true).waiting)).toEqual(["4", "3"]);
    expect(ids(mergeRows(settle(live), []))).toEqual(["4…", "3"]);
  });

  it("never keeps more than it can show", () => {
    const many = Array.from({ length: keptRows + 20 }, (_, i) => row(String(i)));
    const live = addNews(noNews, many, new Set(), false);
    expect(live.shown).toHaveLength(keptRows);
    expect(live.shown[0]?.id).toBe(String(keptRows + 19));
  });
});
