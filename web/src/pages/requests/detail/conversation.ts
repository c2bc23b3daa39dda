import { plural } from "../../../lib/numbers";

/** One message of a conversation, split into parts. */
export interface Message {
  role: string;
  parts: Part[];
  /** The call that a tool message answers. */
  callId?: string;
}

/** A part of a message. Images are shown only if the message contains their data; remote images are never loaded. */
export type Part =
  | { kind: "text"; text: string }
  | { kind: "call"; name: string; args: string; id?: string }
  | { kind: "image"; data?: string; label: string }
  | { kind: "other"; label: string };

/** A tool that the client offers to the model. */
export interface Tool {
  name: string;
  description: string;
  /** The whole definition as JSON. */
  definition: string;
}

const chatEndpoints = [
  "chat/completions",
  "responses",
  "messages",
  "generateContent",
  "streamGenerateContent",
];

/** Reports whether requests to an endpoint are conversations, which the playground can send to other models. */
export function isChat(endpoint: string): boolean {
  return chatEndpoints.includes(endpoint);
}

/** Lists the tools of a chat request. */
export function requestTools(text: string | null): Tool[] {
  const tools = parse(text)?.["tools"];
  return (Array.isArray(tools) ? tools.filter(isObject) : []).map((tool) => {
    const fn = isObject(tool["function"]) ? tool["function"] : tool;
    return {
      name: toText(fn["name"] ?? tool["type"] ?? "tool"),
      description: typeof fn["description"] === "string" ? fn["description"] : "",
      definition: JSON.stringify(tool, null, 2),
    };
  });
}

type Json = Record<string, unknown>;

/** Parses the messages of a chat or embeddings request; undefined for another format. */
export function requestMessages(text: string | null): Message[] | undefined {
  const body = parse(text);
  if (!body) {
    return undefined;
  }
  if (Array.isArray(body["messages"])) {
    return body["messages"].filter(isObject).map(messageOf);
  }
  if (body["input"] !== undefined) {
    const inputs = Array.isArray(body["input"]) ? body["input"] : [body["input"]];
    return inputs.map((input) => ({ role: "input", parts: [{ kind: "text", text: toText(input) }] }));
  }
  return undefined;
}

/** Parses a response: a complete one, or the events of a stream. */
export function answerMessages(text: string | null, streamed: boolean): Message[] | undefined {
  const body = streamed ? assemble(text ?? "") : parse(text);
  if (!body) {
    return undefined;
  }
  if (Array.isArray(body["choices"])) {
    return body["choices"]
      .filter(isObject)
      .map((choice) =>
        messageOf({ role: "assistant", ...(isObject(choice["message"]) ? choice["message"] : {}) }),
      );
  }
  if (Array.isArray(body["data"])) {
    return [{ role: "response", parts: [{ kind: "other", label: plural(body["data"].length, "vector") }] }];
  }
  return undefined;
}

function messageOf(message: Json): Message {
  const parts: Part[] = [];
  for (const name of ["reasoning_content", "reasoning"]) {
    if (typeof message[name] === "string" && message[name]) {
      parts.push({ kind: "other", label: "reasoning" }, { kind: "text", text: message[name] });
    }
  }
  parts.push(...contentParts(message["content"]));
  if (typeof message["refusal"] === "string") {
    parts.push({ kind: "other", label: "refusal" }, { kind: "text", text: message["refusal"] });
  }
  const calls = Array.isArray(message["tool_calls"]) ? message["tool_calls"].filter(isObject) : [];
  for (const call of calls) {
    const fn = isObject(call["function"]) ? call["function"] : {};
    const id = typeof call["id"] === "string" ? call["id"] : undefined;
    parts.push({ kind: "call", name: toText(fn["name"]), args: pretty(toText(fn["arguments"])), id });
  }
  const callId = typeof message["tool_call_id"] === "string" ? message["tool_call_id"] : undefined;
  return { role: toText(message["role"] ?? "message"), parts, callId };
}

function contentParts(content: unknown): Part[] {
  if (typeof content === "string") {
    return content ? [{ kind: "text", text: content }] : [];
  }
  if (!Array.isArray(content)) {
    return [];
  }
  return content.filter(isObject).map((part) => {
    if (typeof part["text"] === "string") {
      return { kind: "text", text: part["text"] };
    }
    return imagePart(part) ?? { kind: "other", label: toText(part["type"] ?? "part") };
  });
}

// Raster formats only: an SVG image may refer to other files.
const imageData = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/;
const maxImage = 12_000_000;

function imagePart(part: Json): Part | undefined {
  const image = isObject(part["image_url"]) ? part["image_url"]["url"] : part["image_url"];
  if (typeof image !== "string") {
    return undefined;
  }
  if (image.length <= maxImage && imageData.test(image)) {
    const kilobytes = Math.ceil((image.length * 3) / 4 / 1000);
    return { kind: "image", data: image, label: `Image, ${kilobytes} kB` };
  }
  return { kind: "image", label: `Image, not loaded: ${image.slice(0, 200)}` };
}

interface Partial {
  role: string;
  content: string;
  calls: Map<number, { id?: string; name: string; args: string }>;
}

/** Assembles the chunks of a stream into a complete response. */
function assemble(text: string): Json | undefined {
  const choices = new Map<number, Partial>();
  for (const line of text.split("\n")) {
    const chunk = parse(line.replace(/^data:\s*/, ""));
    const list = Array.isArray(chunk?.["choices"]) ? chunk["choices"].filter(isObject) : [];
    for (const choice of list) {
      if (isObject(choice["delta"])) {
        addDelta(choices, Number(choice["index"] ?? 0), choice["delta"]);
      }
    }
  }
  if (choices.size === 0) {
    return parse(text);
  }
  return {
    choices: [...choices.values()].map(({ role, content, calls }) => ({
      message: {
        role,
        content,
        tool_calls: [...calls.values()].map((call) => ({
          id: call.id,
          function: { name: call.name, arguments: call.args },
        })),
      },
    })),
  };
}

function addDelta(choices: Map<number, Partial>, index: number, delta: Json): void {
  const before = choices.get(index) ?? { role: "assistant", content: "", calls: new Map() };
  choices.set(index, before);
  if (typeof delta["content"] === "string") {
    before.content += delta["content"];
  }
  const calls = Array.isArray(delta["tool_calls"]) ? delta["tool_calls"].filter(isObject) : [];
  for (const call of calls) {
    const at = Number(call["index"] ?? 0);
    const known = before.calls.get(at) ?? { id: undefined, name: "", args: "" };
    const fn = isObject(call["function"]) ? call["function"] : {};
    before.calls.set(at, {
      id: typeof call["id"] === "string" ? call["id"] : known.id,
      name: known.name + toText(fn["name"] ?? ""),
      args: known.args + toText(fn["arguments"] ?? ""),
    });
  }
}

function parse(text: string | null): Json | undefined {
  try {
    const value: unknown = JSON.parse(text ?? "");
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}

/** Formats JSON with line breaks; other text is returned unchanged. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
