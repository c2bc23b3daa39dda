import { describe, expect, test } from "vitest";

import { EventParser, readEvents, type ServerEvent } from "./sse";

function parse(...pieces: string[]): ServerEvent[] {
  const parser = new EventParser();
  return pieces.flatMap((piece) => parser.push(piece));
}

describe("EventParser", () => {
  const cases: { name: string; pieces: string[]; want: ServerEvent[] }[] = [
    {
      name: "an event ends with an empty line",
      pieces: ["data: a\n\n"],
      want: [{ event: "message", data: "a" }],
    },
    { name: "an event that is not closed is none", pieces: ["data: a\n"], want: [] },
    {
      name: "pieces may end anywhere",
      pieces: ["da", "ta: a", "b\n", "\nda", "ta: c\n\n"],
      want: [msg("ab"), msg("c")],
    },
    { name: "several events in one piece", pieces: ["data: a\n\ndata: b\n\n"], want: [msg("a"), msg("b")] },
    { name: "CRLF, also torn in two", pieces: ["data: a\r", "\n\r", "\n"], want: [msg("a")] },
    { name: "CR alone", pieces: ["data: a\r\rdata: b\r\r\n"], want: [msg("a"), msg("b")] },
    { name: "data lines are joined", pieces: ["data: a\ndata: b\n\n"], want: [msg("a\nb")] },
    {
      name: "one space after the colon is dropped, no more",
      pieces: ["data:  a\n\ndata:b\n\n"],
      want: [msg(" a"), msg("b")],
    },
    {
      name: "comments, ids and unknown fields are passed over",
      pieces: [": ping\nid: 7\nx: y\ndata: a\n\n"],
      want: [msg("a")],
    },
    { name: "empty lines alone are no event", pieces: ["\n\n: ping\n\n"], want: [] },
    {
      name: "an event has its name, the next one has not",
      pieces: ["event: e\ndata: a\n\ndata: b\n\n"],
      want: [{ event: "e", data: "a" }, msg("b")],
    },
    {
      name: "a colon within the data stays",
      pieces: ['data: {"a":"b: c"}\n\n'],
      want: [msg('{"a":"b: c"}')],
    },
  ];
  test.each(cases)("$name", ({ pieces, want }) => {
    expect(parse(...pieces)).toEqual(want);
  });

  test("every way to tear a stream in two gives the same events", () => {
    const text = 'event: x\r\ndata: one\r\ndata: two\r\n\r\n: c\n\ndata: {"a":1}\n\ndata: [DONE]\n\n';
    const whole = parse(text);
    expect(whole).toHaveLength(3);
    for (let i = 0; i <= text.length; i++) {
      expect(parse(text.slice(0, i), text.slice(i))).toEqual(whole);
    }
  });
});

test("readEvents joins characters that were torn apart", async () => {
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

test("readEvents cancels the stream when the reader leaves early", async () => {
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
