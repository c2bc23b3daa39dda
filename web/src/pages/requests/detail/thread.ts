import type { Message, Part } from "./conversation";

/** A tool call with the message that answers it. */
export type CallPart = Extract<Part, { kind: "call" }> & { result?: Message };

/** A message of a thread. Answered tool calls include their results. */
export interface Item {
  /** Position in the conversation, starting at 1. */
  number: number;
  role: string;
  parts: (Exclude<Part, { kind: "call" }> | CallPart)[];
}

/** A conversation: the system prompt, earlier turns, and the last turn with the response. */
export interface Thread {
  system: Item[];
  earlier: Item[];
  last: Item[];
}

const systemRoles = new Set(["system", "developer"]);

/** Arranges messages for reading. The last turn begins with the last message of the user. */
export function threadOf(prompts: Message[], answers: Message[]): Thread {
  const items = joinResults([...prompts, ...answers]);
  const start = items.findIndex(({ role }) => !systemRoles.has(role));
  const system = items.slice(0, start < 0 ? items.length : start);
  const rest = items.slice(system.length);
  const turn = rest.findLastIndex(({ role }) => role === "user");
  return { system, earlier: rest.slice(0, Math.max(0, turn)), last: rest.slice(Math.max(0, turn)) };
}

/** Moves tool messages into the calls that they answer. A tool message without a known call stays in its place. */
function joinResults(messages: Message[]): Item[] {
  const calls = new Map<string, CallPart>();
  const items: Item[] = [];
  messages.forEach((message, i) => {
    const call = message.callId === undefined ? undefined : calls.get(message.callId);
    if (message.role === "tool" && call && !call.result) {
      call.result = message;
      return;
    }
    const parts = message.parts.map((part) => ({ ...part }));
    for (const part of parts) {
      if (part.kind === "call" && part.id) {
        calls.set(part.id, part); // the ids of some clients repeat; results belong to the latest call
      }
    }
    items.push({ number: i + 1, role: message.role, parts });
  });
  return items;
}

/** The text of a message, for previews and comparisons. */
export function textOf(item: Pick<Item, "parts">): string {
  return item.parts
    .map((part) => {
      switch (part.kind) {
        case "text":
          return part.text;
        case "call":
          return `${part.name}(${part.args})`;
        default:
          return `[${part.label}]`;
      }
    })
    .join("\n\n");
}

/** The start of a message on one line. */
export function previewOf(item: Pick<Item, "parts">): string {
  const text = textOf(item).slice(0, 400).replace(/\s+/g, " ").trim();
  return text.length > 160 ? `${text.slice(0, 160)}…` : text || "Empty message";
}

const roleNames: Record<string, string> = {
  system: "System",
  developer: "Developer",
  user: "User",
  assistant: "Assistant",
  tool: "Tool result",
  input: "Input",
  response: "Response",
};

/** The display name of a role. */
export function roleName(role: string): string {
  return roleNames[role] ?? role;
}
