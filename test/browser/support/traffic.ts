import { execFile } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { root } from "./binary";
import { type Client, chat } from "./client";
import type { Gateway } from "./gateway";
import type { Behaviour, Upstream } from "./upstream";

// Deterministic sample traffic of a small company.

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

  /** Behaviour of a sample provider: models differ in speed, and some calls fail. */
export function sampleBehaviour(name: string): (model: string) => Behaviour {
  let calls = 0;
  return (model) => {
    calls++;
    if (model.startsWith("mistral-large") || (name === "mistral" && calls % 7 === 0)) {
      return { fail: { status: 503, message: "Service is at capacity, try again later." }, delay: 60 };
    }
    const size = model.length;
    return {
      delay: 60 + size * 9 + ((calls * 37) % 160),
      answer,
      usage: { prompt: 900 + ((calls * 151) % 7400), cached: calls % 3 === 0 ? 768 : 0, output: 80 + ((calls * 53) % 1100) },
    };
  };
}

/** Configuration of the sample providers: known vendors, with models and prices from the catalog. */
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

/** Creates the keys of three applications and returns the first two. */
export async function sampleKeys(client: Client): Promise<{ id: string; secret: string }[]> {
  const limits = { requests_per_minute: 6000, tokens_per_minute: 2_000_000 };
  const checkout = await client.newKey("checkout-service", { limits, tags: { team: "shop" } });
  const search = await client.newKey("search-backend", { budget: { amount_usd: "60", period: "month" }, tags: { team: "search" } });
  await client.newKey("nightly-batch", { scopes: ["inference", "read"], allowed_models: ["gpt-5-mini", "gpt-4.1-mini"] });
  return [checkout, search];
}

/** Sets a monthly budget of which the key has used about 90 %. */
export async function nearlySpend(client: Client, id: string): Promise<void> {
  const set = (amount: string) => client.call("PATCH", `/keys/${id}`, { budget: { amount_usd: amount, period: "month", warn_percent: 80 } });
  await set("100000");
  const { budget_use: use } = await client.call<{ budget_use?: { spent_usd: string } }>("GET", `/keys/${id}`);
  await set((Number(use?.spent_usd ?? 0) / 0.9).toFixed(2));
}

/** Sends requests and returns the ids of a request that fell back and of a request that was served as expected. */
export async function sampleTraffic(client: Client, keys: { secret: string }[], count: number): Promise<{ fallback?: string; usual?: string }> {
  const found: { fallback?: string; usual?: string } = {};
  let n = 0;
  const worker = async () => {
    while (n < count) {
      const i = n++;
      const response = await client.send({ key: keys[i % 5 === 0 ? 1 : 0]?.secret ?? "", ...sampleCall(i) });
      const decision = response.headers.get("x-fairlead-decision");
      if (decision === "fallback" && response.headers.get("x-fairlead-attempts") === "2") {
        found.fallback = response.id;
      } else if (decision === "expected" && i % 4 === 0) {
        found.usual = response.id;
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  return found;
}

/** Sends the turns of one conversation, in the session "refund-4471", and returns the ids of its requests. */
export async function sampleSession(client: Client, key: string): Promise<string[]> {
  const messages: object[] = [{ role: "system", content: "You are a careful assistant of the shop. Answer briefly." }];
  const ids: string[] = [];
  for (const [model, prompt] of [
    ["auto", "Summarise the ticket about parcel 4471 in two sentences."],
    ["auto", "Shorten it for the carrier."],
    ["auto:quality", "Draft a reply to the customer."],
    ["auto", "Translate the reply into German."],
  ] as const) {
    messages.push({ role: "user", content: prompt });
    const headers = { "X-Fairlead-Session": "refund-4471", "X-Fairlead-Tags": "feature=replies", "User-Agent": "OpenAI/Python 2.8.1" };
    ids.push((await client.send({ key, headers, body: { model, messages, max_tokens: 2000 } })).id);
    messages.push({ role: "assistant", content: answer });
  }
  await client.logged(...ids);
  return ids;
}

/** Adds weeks of history: sends some requests and repeats them in a copy of the original data. */
export async function samplePast(gateway: Gateway, client: Client, keys: { secret: string }[]): Promise<void> {
  const { id } = await client.call<{ id: string }>("GET", "/workspace");
  const before = await mkdtemp(join(tmpdir(), "fairlead-history-"));
  await gateway.whileStopped((data) => cp(data, before, { recursive: true }));
  await sampleTraffic(client, keys, 480);
  await gateway.whileStopped(async (data) => {
    await promisify(execFile)("go", ["run", "./test/browser/history", "-from", data, "-to", before, "-workspace", id], { cwd: root });
    await rm(data, { recursive: true });
    await cp(before, data, { recursive: true });
  });
  await rm(before, { recursive: true });
}

/** Opens a circuit: one model of a provider fails every call. */
export async function sampleFailures(client: Client, keys: { secret: string }[]): Promise<void> {
  for (let i = 0; i < 6; i++) {
    await client.send({ key: keys[0]?.secret ?? "", body: chat("mistral-large-2512", "Summarise the attached report.") });
  }
}

function sampleCall(i: number) {
  const prompt = prompts[i % prompts.length] ?? "";
  const model = modelOf(i);
  const more = {
    stream: i % 3 === 0,
    max_tokens: 2000,
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
    return i % 2 ? "mistral-large-2512" : "gpt-7"; // a failing model, and one that does not exist
  }
  if (i % 11 === 0) {
    return "gpt-4.1";
  }
  return i % 4 === 1 ? "mistral-small-3.2" : i % 9 === 0 ? "auto:quality" : "auto";
}
