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

/** One prompt and its responses by column. */
export interface Turn {
  id: number;
  prompt: string;
  runs: Record<string, Run>;
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
export function messagesOf(turns: Turn[], column: string, preamble: Preamble, prompt: string): Message[] {
  const messages: Message[] = preamble.system.trim() ? [{ role: "system", content: preamble.system }] : [];
  messages.push(...preamble.earlier);
  for (const turn of turns) {
    const text = turn.runs[column]?.text;
    if (text) {
      messages.push({ role: "user", content: turn.prompt }, { role: "assistant", content: text });
    }
  }
  return [...messages, { role: "user", content: prompt }];
}

/** The body of a request. Invalid tools are omitted; toolsProblem reports them. */
export function bodyOf(
  model: string,
  messages: Message[],
  parameters: Parameters,
  fault?: Fault,
): Record<string, unknown> {
  const body: Record<string, unknown> = { model, messages };
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
  prompt: string;
  parameters: Parameters;
  /** The conversation before the last prompt. */
  earlier: Message[];
  /** Whether non-text parts of the prompt, such as images, were dropped. */
  lossy: boolean;
}

/** Parses a stored request; undefined when it is not a chat request. */
export function replayOf(text: string): Replay | undefined {
  try {
    const body = JSON.parse(text) as Record<string, unknown>;
    const messages = body["messages"];
    if (!Array.isArray(messages)) {
      return undefined;
    }
    const list = messages as Message[];
    const isSystem = (m: Message) => m.role === "system" || m.role === "developer";
    const last = list.findLastIndex((m) => m.role === "user");
    const max = body["max_completion_tokens"] ?? body["max_tokens"];
    const format = body["response_format"] as { type?: string } | undefined;
    return {
      model: typeof body["model"] === "string" ? body["model"] : "auto",
      prompt: textOf(list[last]?.content),
      earlier: list.slice(0, Math.max(last, 0)).filter((m) => !isSystem(m)),
      lossy: hasOtherParts(list[last]?.content),
      parameters: {
        system: list
          .filter(isSystem)
          .map((m) => textOf(m.content))
          .join("\n\n"),
        temperature: typeof body["temperature"] === "number" ? body["temperature"] : "",
        maxTokens: typeof max === "number" ? max : "",
        json: format?.type === "json_object",
        tools: Array.isArray(body["tools"]) ? JSON.stringify(body["tools"], null, 2) : "",
      },
    };
  } catch {
    return undefined;
  }
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
