import { splitRedacted } from "../../lib/redacted";
import type { Run } from "./run";

/** The request parameters other than the prompt. */
export interface Parameters {
  system: string;
  /** Empty for the model's default. */
  temperature: number | "";
  maxTokens: number | "";
  json: boolean;
  /** Tool definitions as JSON; empty for none. */
  tools: string;
}

/** The default parameters. */
export const noParameters: Parameters = {
  system: "",
  temperature: "",
  maxTokens: "",
  json: false,
  tools: "",
};

/** A failure that the simulator injects. */
export interface Fault {
  name: string;
  /** The affected model; empty for all. */
  model: string;
}

/** The failures that the simulator supports. */
export const faults: { group: string; items: { value: string; label: string }[] }[] = [
  {
    group: "Error responses",
    items: [
      { value: "429", label: "429 Rate limited" },
      { value: "500", label: "500 Internal error" },
      { value: "503", label: "503 Unavailable" },
      { value: "529", label: "529 Overloaded" },
      { value: "401", label: "401 Invalid credential" },
      { value: "404", label: "404 Model not found" },
      { value: "content_filter", label: "Content filter" },
      { value: "context_length", label: "Context too long" },
    ],
  },
  {
    group: "No valid response",
    items: [
      { value: "timeout", label: "Timeout" },
      { value: "slow_start", label: "Slow first token" },
      { value: "reset", label: "Connection reset" },
      { value: "empty", label: "Empty response" },
      { value: "html", label: "HTML page" },
      { value: "garbage", label: "Invalid JSON" },
      { value: "error_in_200", label: "Error with status 200" },
    ],
  },
  {
    group: "Stream failures",
    items: [
      { value: "role_then_error", label: "Error before the first token" },
      { value: "cut", label: "Interrupted stream" },
      { value: "stall", label: "Stalled stream" },
      { value: "no_usage", label: "Missing usage" },
      { value: "absurd_usage", label: "Implausible usage" },
    ],
  },
];

/** A prompt that is sent. */
export interface Prompt {
  text: string;
  /** The content of a stored prompt with parts other than text; the text if undefined. */
  content?: unknown;
  /** Messages of a stored request after its last prompt: tool calls and their results. */
  after?: Message[];
}

/** One prompt and its responses by column. */
export interface Turn {
  id: number;
  prompt: Prompt;
  /** The first response of each column, with which the conversation continues. */
  runs: Record<string, Run>;
  /** Further responses of each column, if the prompt is repeated. */
  more: Record<string, Run[]>;
  /** Number of responses that were requested for each column. */
  repeats: number;
  /** Whether responses are streaming or waiting to be sent. */
  running: boolean;
}

/** All responses of a column to a prompt. */
export function runsOf(turn: Turn, column: string): Run[] {
  const first = turn.runs[column];
  return first ? [first, ...(turn.more[column] ?? [])] : [];
}

/** A message in the chat format. */
export interface Message {
  role: string;
  content: unknown;
}

/** Messages before the first turn. */
export interface Preamble {
  system: string;
  /** Messages of the stored request that is continued. */
  earlier: Message[];
}

/** The conversation of a column up to a new prompt. Turns without a response are skipped. */
export function messagesOf(turns: Turn[], column: string, preamble: Preamble, prompt: Prompt): Message[] {
  const messages: Message[] = preamble.system.trim() ? [{ role: "system", content: preamble.system }] : [];
  messages.push(...preamble.earlier);
  for (const turn of turns) {
    const text = turn.runs[column]?.text;
    if (text) {
      messages.push(...promptMessages(turn.prompt), { role: "assistant", content: text });
    }
  }
  return [...messages, ...promptMessages(prompt)];
}

function promptMessages({ text, content, after = [] }: Prompt): Message[] {
  return [{ role: "user", content: content ?? text }, ...after];
}

/** The body of a request. Invalid tools are omitted; toolsProblem reports them. */
export function bodyOf(
  model: string,
  messages: Message[],
  parameters: Parameters,
  fault?: Fault,
  settings: Record<string, unknown> = {},
): Record<string, unknown> {
  const body: Record<string, unknown> = { ...settings, model, messages };
  if (parameters.temperature !== "") {
    body["temperature"] = parameters.temperature;
  }
  if (parameters.maxTokens !== "") {
    body["max_tokens"] = parameters.maxTokens;
  }
  if (parameters.json) {
    body["response_format"] = { type: "json_object" };
  }
  if (parameters.tools.trim() && !toolsProblem(parameters.tools)) {
    body["tools"] = JSON.parse(parameters.tools);
  }
  if (fault?.name) {
    body["metadata"] = { simulate: fault.model ? `${fault.name}@${fault.model}` : fault.name };
  }
  return body;
}

/** Validates tool definitions; undefined when they are valid. */
export function toolsProblem(text: string): string | undefined {
  if (!text.trim()) {
    return undefined;
  }
  try {
    const tools: unknown = JSON.parse(text);
    if (!Array.isArray(tools) || tools.length === 0) {
      return 'Enter a list of tools: [{"type": "function", …}].';
    }
    const bad = tools.findIndex(
      (tool: { function?: { name?: unknown } } | null) => typeof tool?.function?.name !== "string",
    );
    return bad >= 0 ? `Tool ${bad + 1} has no function.name.` : undefined;
  } catch (error) {
    return `Invalid JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Summarises the parameters that are set. */
export function parametersSummary(parameters: Parameters): string {
  const parts = [
    parameters.system.trim() && "system prompt",
    parameters.temperature !== "" && `temperature ${parameters.temperature}`,
    parameters.maxTokens !== "" && `max ${parameters.maxTokens} tokens`,
    parameters.json && "JSON",
    parameters.tools.trim() && "tools",
  ];
  return parts.filter(Boolean).join(" · ") || "defaults";
}

/** A stored request, loaded into the playground. */
export interface Replay {
  model: string;
  /** The text of the last prompt, which can be edited. */
  prompt: string;
  /** The last prompt as stored, sent while its text is not edited. */
  stored: Prompt;
  parameters: Parameters;
  /** Further fields of the request that affect the response, such as tool_choice. */
  settings: Record<string, unknown>;
  /** The conversation before the last prompt. */
  earlier: Message[];
  /** Whether the last prompt has parts other than text, such as images. */
  otherParts: boolean;
  /** Whether the stored text has marks of redaction rules. */
  redacted: boolean;
}

/**
 * The fields of a stored request that are sent again, in addition to those with a parameter. The other fields belong
 * to the client.
 */
const keptSettings = [
  "tool_choice",
  "parallel_tool_calls",
  "response_format",
  "reasoning_effort",
  "verbosity",
  "top_p",
  "stop",
  "seed",
  "frequency_penalty",
  "presence_penalty",
];

/** Parses a stored request; undefined when it is not a chat request. */
export function replayOf(text: string): Replay | undefined {
  try {
    const body = JSON.parse(text) as Record<string, unknown>;
    const messages = body["messages"];
    if (!Array.isArray(messages)) {
      return undefined;
    }
    const isSystem = (m: Message) => m.role === "system" || m.role === "developer";
    const list = messages as Message[];
    const talk = list.filter((m) => !isSystem(m));
    const last = talk.findLastIndex((m) => m.role === "user");
    const content = talk[last]?.content;
    const prompt = textOf(content);
    const max = body["max_completion_tokens"] ?? body["max_tokens"];
    const format = body["response_format"] as { type?: string } | undefined;
    const json = format?.type === "json_object";
    return {
      model: typeof body["model"] === "string" ? body["model"] : "auto",
      prompt,
      stored: {
        text: prompt,
        content: hasOtherParts(content) ? content : undefined,
        after: last >= 0 ? talk.slice(last + 1) : undefined,
      },
      settings: Object.fromEntries(
        keptSettings.flatMap((name) =>
          body[name] === undefined || body[name] === null || (name === "response_format" && json)
            ? []
            : [[name, body[name]]],
        ),
      ),
      earlier: talk.slice(0, Math.max(last, 0)),
      otherParts: hasOtherParts(content),
      redacted: splitRedacted(text).some((part) => part.rule),
      parameters: {
        system: list
          .filter(isSystem)
          .map((m) => textOf(m.content))
          .join("\n\n"),
        temperature: typeof body["temperature"] === "number" ? body["temperature"] : "",
        maxTokens: typeof max === "number" ? max : "",
        json,
        tools: Array.isArray(body["tools"]) ? JSON.stringify(body["tools"], null, 2) : "",
      },
    };
  } catch {
    return undefined;
  }
}

/** The prompt to send: the stored one while its text is unchanged, otherwise the text. */
export function promptOf(text: string, start: Replay | undefined): Prompt {
  return start && text === start.prompt ? start.stored : { text };
}

function hasOtherParts(content: unknown): boolean {
  return Array.isArray(content) && (content as { type?: string }[]).some((part) => part.type !== "text");
}

function textOf(content: unknown): string {
  if (typeof content === "string") {
    return content;
  }
  if (!Array.isArray(content)) {
    return "";
  }
  return (content as { type?: string; text?: string }[])
    .filter((part) => part.type === "text")
    .map((part) => part.text ?? "")
    .join("\n");
}
