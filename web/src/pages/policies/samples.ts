/** A sample request body for a dry run. */
export interface Sample {
  id: string;
  label: string;
  endpoint: "chat/completions" | "embeddings";
  body: object;
}

const question = "Which year did the first transatlantic telegraph cable carry a message?";

const report = Array.from(
  { length: 60 },
  (_, i) =>
    `Line ${i + 1}: the pump station reported normal pressure, a slow rise of temperature and no alarms.`,
).join("\n");

/** Sample bodies with different features. */
export const samples: Sample[] = [
  {
    id: "short",
    label: "Short question",
    endpoint: "chat/completions",
    body: { model: "auto", messages: [{ role: "user", content: question }] },
  },
  {
    id: "code",
    label: "Hard: proof and code",
    endpoint: "chat/completions",
    body: {
      model: "auto:quality",
      messages: [
        {
          role: "user",
          content:
            "Prove that the greedy algorithm for interval scheduling is optimal, then write it in Go with table tests, and say where a weighted version breaks the proof.",
        },
      ],
    },
  },
  {
    id: "long",
    label: "Long document",
    endpoint: "chat/completions",
    body: {
      model: "auto:cost",
      max_tokens: 300,
      messages: [{ role: "user", content: `Summarise this log in three sentences.\n\n${report}` }],
    },
  },
  {
    id: "tools",
    label: "With a tool and JSON",
    endpoint: "chat/completions",
    body: {
      model: "auto",
      messages: [{ role: "user", content: "What is the weather in Oslo?" }],
      response_format: { type: "json_object" },
      tools: [
        {
          type: "function",
          function: {
            name: "weather",
            parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
          },
        },
      ],
    },
  },
  {
    id: "image",
    label: "With an image",
    endpoint: "chat/completions",
    body: {
      model: "auto",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "What is in this picture?" },
            { type: "image_url", image_url: { url: "https://example.com/picture.png" } },
          ],
        },
      ],
    },
  },
  {
    id: "embedding",
    label: "Embeddings",
    endpoint: "embeddings",
    body: { model: "auto", input: ["the first text", "the second text"] },
  },
];

/** Parses a pasted body, or reports where its JSON is invalid. Other text is a prompt for auto. */
export function readBody(text: string): { body?: object; problem?: string } {
  if (text.trim() === "") {
    return {};
  }
  if (!/^\s*([[{"]|-?\d+\s*$|(null|true|false)\s*$)/.test(text)) {
    return { body: { model: "auto", messages: [{ role: "user", content: text }] } };
  }
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null && !Array.isArray(body)
      ? { body }
      : { problem: "Enter a JSON object: { … }." };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { problem: `Invalid JSON${positionOf(text, message)}: ${message}` };
  }
}

/** The position of a JSON error; empty if the engine does not report one or already names the line. */
function positionOf(text: string, message: string): string {
  const position = /position (\d+)/.exec(message)?.[1];
  if (position === undefined || /line \d+ column/.test(message)) {
    return "";
  }
  const before = text.slice(0, Number(position)).split("\n");
  return ` (line ${before.length}, column ${(before.at(-1) ?? "").length + 1})`;
}

/** The endpoint of a body: embeddings have input instead of messages. */
export function endpointOf(body: object): Sample["endpoint"] {
  return "input" in body && !("messages" in body) ? "embeddings" : "chat/completions";
}
