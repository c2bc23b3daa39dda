import { readError } from "./errors";
import { exampleBody } from "../lib/snippets";

/** Result of a test request. */
export interface TestResult {
  text: string;
  id: string;
  model: string;
  provider: string;
  cost: string | null;
  ms: number;
}

/**
 * Sends one request with a key, as a client would. A header marks it as a request from the dashboard, because the
 * gateway rejects keys from other web pages.
 */
export async function sendTestRequest(key: string): Promise<TestResult> {
  const start = performance.now();
  const response = await fetch("/proxy/v1/chat/completions", {
    method: "POST",
    credentials: "omit",
    headers: {
      Authorization: `Bearer ${key}`,
      "Content-Type": "application/json",
      "X-Fairlead-Dashboard": "key-test",
    },
    body: JSON.stringify(exampleBody),
  });
  if (!response.ok) {
    throw await readError(response);
  }
  const body = (await response.json()) as { choices?: { message?: { content?: string } }[] };
  const header = (name: string) => response.headers.get(`x-fairlead-${name}`) ?? "";
  return {
    text: body.choices?.[0]?.message?.content ?? "",
    id: response.headers.get("x-request-id") ?? "",
    model: header("model"),
    provider: header("provider"),
    cost: header("cost") || null,
    ms: Math.round(performance.now() - start),
  };
}
