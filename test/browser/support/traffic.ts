import { type Client, chat } from "./client";
import type { Behaviour, Upstream } from "./upstream";

// Traffic as a small company might have it, the same in every run: no draw is random.

const prompts = [
  "Summarise the attached support ticket in two sentences.",
  "Is this review positive, negative or neutral?",
  "Write a SQL query that lists customers without an order this year.",
  "Translate the following release notes into German.",
  "Which of these invoices are overdue, and by how many days?",
  "Explain the difference between a mutex and a semaphore.",
  "Draft a friendly answer to a customer whose parcel is late.",
  "Extract name, address and order number as JSON.",
];

const answer =
  "The customer reports that parcel 4471 has not arrived and asks for a refund. " +
  "The carrier lists it as delivered on Tuesday, so the next step is a proof of delivery.";

/** How a provider of the sample behaves: its models differ in speed, and now and then it fails. */
export function sampleBehaviour(name: string): (model: string) => Behaviour {
  let calls = 0;
  return (model) => {
    calls++;
    if (model.startsWith("mistral-large") || (name === "mistral" && calls % 7 === 0)) {
      return { fail: { status: 503, message: "Service is at capacity, try again later." }, delay: 60 };
    }
    const size = model.length;
    return {
      delay: 90 + ((calls * 37 + size * 13) % 240),
      answer,
      usage: { prompt: 420 + ((calls * 61) % 2400), cached: calls % 3 === 0 ? 384 : 0, output: 60 + ((calls * 29) % 420) },
    };
  };
}

/** The providers of the sample: known vendors, so that models and prices are those of the catalog. */
export function sampleConfig(upstreams: Record<string, Upstream>): string {
  const models: Record<string, string[]> = {
    openai: ["gpt-6-sol", "gpt-6-luna", "gpt-5-mini", "gpt-4.1", "gpt-4.1-mini"],
    mistral: ["mistral-large-2512", "mistral-small-3.2"],
    deepseek: ["deepseek-v3.2"],
  };
  const providers = Object.entries(upstreams).map(
    ([name, upstream]) =>
      `  - { name: ${name}, base_url: "${upstream.baseUrl}", api_keys: [sk-sample-${name}-7Q4f], models: [${(models[name] ?? []).map((m) => `{ name: ${m} }`).join(", ")}] }`,
  );
  return `default_model: gpt-6-sol\nretries: { attempts: 2 }\nproviders:\n${providers.join("\n")}\n`;
}

/** Keys of three applications; the first two are used. */
export async function sampleKeys(client: Client): Promise<{ id: string; secret: string }[]> {
  const limits = { requests_per_minute: 6000, tokens_per_minute: 2_000_000 };
  const checkout = await client.newKey("checkout-service", { limits, tags: { team: "shop" } });
  const search = await client.newKey("search-backend", { budget: { amount_usd: "25", period: "month" }, tags: { team: "search" } });
  await client.newKey("nightly-batch", { scopes: ["inference", "read"], allowed_models: ["gpt-5-mini", "gpt-4.1-mini"] });
  return [checkout, search];
}

/** Gives a key a monthly budget of which it has used about nine tenths. */
export async function nearlySpend(client: Client, id: string): Promise<void> {
  const { spend_30d_usd: spent } = await client.call<{ spend_30d_usd: string }>("GET", `/keys/${id}`);
  const amount = (Number(spent) / 0.9).toFixed(4);
  await client.call("PATCH", `/keys/${id}`, { budget: { amount_usd: amount, period: "month", warn_percent: 80 } });
}

/** Sends requests for this many seconds and returns the ids of a fallback and of an ordinary request. */
export async function sampleTraffic(client: Client, keys: { secret: string }[], seconds: number): Promise<{ fallback?: string; usual?: string }> {
  const found: { fallback?: string; usual?: string } = {};
  const end = Date.now() + seconds * 1000;
  let n = 0;
  const worker = async () => {
    while (Date.now() < end) {
      const i = n++;
      const answered = await client.send({ key: keys[i % 5 === 0 ? 1 : 0]?.secret ?? "", ...sampleCall(i) });
      const decision = answered.headers.get("x-fairlead-decision");
      if (decision === "fallback" && answered.headers.get("x-fairlead-attempts") === "2") {
        found.fallback = answered.id;
      } else if (decision === "expected" && i % 4 === 0) {
        found.usual = answered.id;
      }
      await new Promise((resolve) => setTimeout(resolve, 80 + 60 * Math.sin(i / 15)));
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  return found;
}

function sampleCall(i: number) {
  const prompt = prompts[i % prompts.length] ?? "";
  const model = modelOf(i);
  const more = {
    stream: i % 3 === 0,
    max_tokens: 800,
    ...(model.startsWith("mistral-small") ? { models: ["gpt-5-mini"] } : {}),
  };
  const system = { role: "system", content: "You are a careful assistant of the shop. Answer briefly." };
  const body = { ...chat(model, prompt, more), messages: [system, { role: "user", content: prompt }] };
  return {
    body,
    headers: { "X-Fairlead-Session": `chat-${i % 40}`, "X-Fairlead-Tags": `feature=${i % 2 ? "summaries" : "replies"}`, "User-Agent": "OpenAI/Python 2.8.1" },
  };
}

function modelOf(i: number): string {
  if (i % 41 === 7) {
    return i % 2 ? "mistral-large-2512" : "gpt-7"; // one that is down, and one that does not exist
  }
  if (i % 11 === 0) {
    return "gpt-4.1";
  }
  return i % 4 === 1 ? "mistral-small-3.2" : i % 9 === 0 ? "auto:quality" : "auto";
}
