/** One server-sent event. */
export interface ServerEvent {
  /** The event name; "message" by default. */
  event: string;
  data: string;
}

/**
 * EventParser parses server-sent events from chunks of any size. Lines end with LF, CR or CRLF; comments, ids and retry
 * times are ignored. An event ends with an empty line.
 */
export class EventParser {
  private rest = "";
  private data: string[] = [];
  private name = "";

  /** Parses the next chunk and returns the events that it completes. */
  push(text: string): ServerEvent[] {
    this.rest += text;
    const events: ServerEvent[] = [];
    for (;;) {
      // A CR at the very end may be the first half of a CRLF.
      const end = /\r\n|\n|\r(?!$)/.exec(this.rest);
      if (!end) {
        return events;
      }
      const event = this.line(this.rest.slice(0, end.index));
      this.rest = this.rest.slice(end.index + end[0].length);
      if (event) {
        events.push(event);
      }
    }
  }

  private line(line: string): ServerEvent | undefined {
    if (line === "") {
      return this.close();
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") {
      this.data.push(value);
    } else if (field === "event") {
      this.name = value;
    }
    return undefined;
  }

  private close(): ServerEvent | undefined {
    const event =
      this.data.length > 0 ? { event: this.name || "message", data: this.data.join("\n") } : undefined;
    this.data = [];
    this.name = "";
    return event;
  }
}

/** readEvents yields the events of a body as they arrive. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      yield* parser.push(done ? decoder.decode() : decoder.decode(value, { stream: true }));
      if (done) {
        return;
      }
    }
  } finally {
    // A reader that stops early must cancel, so that the gateway stops the upstream call.
    await reader.cancel().catch(() => undefined);
  }
}
