import { readError } from "./errors";
import { firstBody } from "../lib/snippets";

/** What a test request brought. */
export interface TestResult {
  text: string;
  id: string;
  model: string;
  provider: string;
  cost: string | null;
  ms: number;
}

/**
 * Sends one request with a key, exactly as a client would. The header tells the gateway that its own dashboard asks:
 * keys in other pages are refused.
 */
export async function sendTestRequest(key: string): Promise<TestResult> {
  const start = performance.now();
  const answer = await fetch("/proxy/v1/chat/completions", {
    method: "POST",
    credentials: "omit",
    headers: {
      Authorization: `Bearer ${key}`,
      "Content-Type": "application/json",
      "X-Fairlead-Dashboard": "key-test",
    },
    body: JSON.stringify(firstBody),
  });
  if (!answer.ok) {
    throw await readError(answer);
  }
  const body = (await answer.json()) as { choices?: { message?: { content?: string } }[] };
  const header = (name: string) => answer.headers.get(`x-fairlead-${name}`) ?? "";
  return {
    text: body.choices?.[0]?.message?.content ?? "",
    id: answer.headers.get("x-request-id") ?? "",
    model: header("model"),
    provider: header("provider"),
    cost: header("cost") || null,
    ms: Math.round(performance.now() - start),
  };
}
