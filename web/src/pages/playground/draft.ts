import type { Run } from "./run";

/** What is sent besides the prompt. */
export interface Parameters {
  system: string;
  /** Empty leaves it to the model. */
  temperature: number | "";
  maxTokens: number | "";
  json: boolean;
  /** Definitions as JSON; empty for none. */
  tools: string;
}

/** The parameters of a fresh playground. */
export const noParameters: Parameters = {
  system: "",
  temperature: "",
  maxTokens: "",
  json: false,
  tools: "",
};

/** A failure that the simulator plays: its name, and the model it is for. */
export interface Fault {
  name: string;
  /** Empty for every model. */
  model: string;
}

/** The failures that the simulator knows, in words. */
export const faults: { group: string; items: { value: string; label: string }[] }[] = [
  {
    group: "Refuses",
    items: [
      { value: "429", label: "429 rate limited" },
      { value: "500", label: "500 internal error" },
      { value: "503", label: "503 unavailable" },
      { value: "529", label: "529 overloaded" },
      { value: "401", label: "401 bad credential" },
      { value: "404", label: "404 no such model" },
      { value: "content_filter", label: "content filter" },
      { value: "context_length", label: "context too long" },
    ],
  },
  {
    group: "Does not answer",
    items: [
      { value: "timeout", label: "never answers" },
      { value: "slow_start", label: "slow first token" },
      { value: "reset", label: "connection reset" },
      { value: "empty", label: "empty answer" },
      { value: "html", label: "a web page" },
      { value: "garbage", label: "broken JSON" },
      { value: "error_in_200", label: "an error with status 200" },
    ],
  },
  {
    group: "Breaks while answering",
    items: [
      { value: "role_then_error", label: "fails before the first token" },
      { value: "cut", label: "cut half way" },
      { value: "stall", label: "silent half way" },
      { value: "no_usage", label: "tells no usage" },
      { value: "absurd_usage", label: "absurd usage" },
    ],
  },
];

/** One question and its answers by column. */
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

/** What stands before the first turn. */
export interface Before {
  system: string;
  /** Messages of a stored request that is continued. */
  earlier: Message[];
}

/** The conversation of a column up to a new prompt. Turns that got no text are left out: nobody answered them. */
export function messagesOf(turns: Turn[], column: string, before: Before, prompt: string): Message[] {
  const messages: Message[] = before.system.trim() ? [{ role: "system", content: before.system }] : [];
  messages.push(...before.earlier);
  for (const turn of turns) {
    const text = turn.runs[column]?.text;
    if (text) {
      messages.push({ role: "user", content: turn.prompt }, { role: "assistant", content: text });
    }
  }
  return [...messages, { role: "user", content: prompt }];
}

/** The body of a request. Tools that cannot be read are left out; toolsProblem tells. */
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

/** Says what is wrong with definitions of tools; undefined when nothing is. */
export function toolsProblem(text: string): string | undefined {
  if (!text.trim()) {
    return undefined;
  }
  try {
    const tools: unknown = JSON.parse(text);
    if (!Array.isArray(tools) || tools.length === 0) {
      return 'Give a list of tools: [{"type": "function", …}].';
    }
    const bad = tools.findIndex(
      (tool: { function?: { name?: unknown } } | null) => typeof tool?.function?.name !== "string",
    );
    return bad >= 0 ? `Tool ${bad + 1} has no function.name.` : undefined;
  } catch (error) {
    return `Not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Says in a few words which parameters are set. */
export function parametersSummary(parameters: Parameters): string {
  const parts = [
    parameters.system.trim() && "system",
    parameters.temperature !== "" && `temperature ${parameters.temperature}`,
    parameters.maxTokens !== "" && `at most ${parameters.maxTokens} tokens`,
    parameters.json && "JSON",
    parameters.tools.trim() && "tools",
  ];
  return parts.filter(Boolean).join(" · ") || "none set";
}

/** What a stored request puts into the playground. */
export interface Replay {
  model: string;
  prompt: string;
  parameters: Parameters;
  /** The conversation before the last question. */
  earlier: Message[];
  /** The question had parts that are no text, such as images, and has lost them. */
  lossy: boolean;
}

/** Reads a stored request; undefined when it is no chat request. */
export function replayOf(text: string): Replay | undefined {
  try {
    const body = JSON.parse(text) as Record<string, unknown>;
    const messages = body["messages"];
    if (!Array.isArray(messages)) {
      return undefined;
    }
    const read = messages as Message[];
    const isSystem = (m: Message) => m.role === "system" || m.role === "developer";
    const last = read.findLastIndex((m) => m.role === "user");
    const max = body["max_completion_tokens"] ?? body["max_tokens"];
    const format = body["response_format"] as { type?: string } | undefined;
    return {
      model: typeof body["model"] === "string" ? body["model"] : "auto",
      prompt: textOf(read[last]?.content),
      earlier: read.slice(0, Math.max(last, 0)).filter((m) => !isSystem(m)),
      lossy: hasOtherParts(read[last]?.content),
      parameters: {
        system: read
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
