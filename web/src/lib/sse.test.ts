import { describe, expect, test } from "vitest";

import { EventParser, readEvents, type ServerEvent } from "./sse";

function parse(...chunks: string[]): ServerEvent[] {
  const parser = new EventParser();
  return chunks.flatMap((chunk) => parser.push(chunk));
}

describe("EventParser", () => {
  const cases: { name: string; chunks: string[]; want: ServerEvent[] }[] = [
    {
      name: "an event ends with an empty line",
      chunks: ["data: a\n\n"],
      want: [{ event: "message", data: "a" }],
    },
    { name: "an incomplete event is not returned", chunks: ["data: a\n"], want: [] },
    {
      name: "chunks may end anywhere",
      chunks: ["da", "ta: a", "b\n", "\nda", "ta: c\n\n"],
      want: [msg("ab"), msg("c")],
    },
    {
      name: "one chunk may hold several events",
      chunks: ["data: a\n\ndata: b\n\n"],
      want: [msg("a"), msg("b")],
    },
    { name: "CRLF may be split across chunks", chunks: ["data: a\r", "\n\r", "\n"], want: [msg("a")] },
    { name: "CR ends a line", chunks: ["data: a\r\rdata: b\r\r\n"], want: [msg("a"), msg("b")] },
    { name: "data lines are joined", chunks: ["data: a\ndata: b\n\n"], want: [msg("a\nb")] },
    {
      name: "only one space after the colon is dropped",
      chunks: ["data:  a\n\ndata:b\n\n"],
      want: [msg(" a"), msg("b")],
    },
    {
      name: "comments, ids and unknown fields are ignored",
      chunks: [": ping\nid: 7\nx: y\ndata: a\n\n"],
      want: [msg("a")],
    },
    { name: "empty lines alone are not an event", chunks: ["\n\n: ping\n\n"], want: [] },
    {
      name: "an event name applies to one event",
      chunks: ["event: e\ndata: a\n\ndata: b\n\n"],
      want: [{ event: "e", data: "a" }, msg("b")],
    },
    {
      name: "a colon in the data is kept",
      chunks: ['data: {"a":"b: c"}\n\n'],
      want: [msg('{"a":"b: c"}')],
    },
  ];
  test.each(cases)("$name", ({ chunks, want }) => {
    expect(parse(...chunks)).toEqual(want);
  });

  test("splitting a stream at any position gives the same events", () => {
    const text = 'event: x\r\ndata: one\r\ndata: two\r\n\r\n: c\n\ndata: {"a":1}\n\ndata: [DONE]\n\n';
    const whole = parse(text);
    expect(whole).toHaveLength(3);
    for (let i = 0; i <= text.length; i++) {
      expect(parse(text.slice(0, i), text.slice(i))).toEqual(whole);
    }
  });
});

test("readEvents joins characters split across chunks", async () => {
  const bytes = new TextEncoder().encode("data: é€😀\n\n");
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const byte of bytes) {
        controller.enqueue(Uint8Array.of(byte));
      }
      controller.close();
    },
  });
  const got: ServerEvent[] = [];
  for await (const event of readEvents(body)) {
    got.push(event);
  }
  expect(got).toEqual([msg("é€😀")]);
});

test("readEvents cancels the stream when the reader stops early", async () => {
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode("data: a\n\n")),
    cancel: () => {
      cancelled = true;
    },
  });
  for await (const event of readEvents(body)) {
    expect(event).toEqual(msg("a"));
    break;
  }
  expect(cancelled).toBe(true);
});

function msg(data: string): ServerEvent {
  return { event: "message", data };
}
