import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Token usage that the provider reports. */
export interface Usage {
  prompt: number;
  cached?: number;
  output: number;
  reasoning?: number;
}

/** Behaviour of an upstream. */
export interface Behaviour {
  /** An error response instead of an answer; retryAfter is in seconds. */
  fail?: { status: number; message: string; retryAfter?: number };
  usage?: Usage;
  answer?: string;
  /** Milliseconds before the response; a stream pauses once more in the middle. */
  delay?: number;
}

/** A provider in the chat format on loopback, controlled by the test. */
export class Upstream {
  /** The behaviour for every call, or by model. */
  behaviour: Behaviour | ((model: string) => Behaviour) = {};
  /** The model list. */
  models: string[] = [];
  /** The only accepted key; every call is accepted without one. */
  key: string | undefined;
  private server: Server | undefined;
  private port = 0;

  /** Starts an upstream on a free port. */
  static async start(behaviour: Upstream["behaviour"] = {}): Promise<Upstream> {
    const upstream = new Upstream();
    upstream.behaviour = behaviour;
    await upstream.revive();
    return upstream;
  }

  /** Value for base_url. */
  get baseUrl(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  /** Listens on the same port as before. */
  async revive(): Promise<void> {
    const server = createServer((request, response) => void this.serve(request, response));
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(this.port, "127.0.0.1", resolve);
    });
    this.port = (server.address() as AddressInfo).port;
    this.server = server;
  }

  /** Simulates a crash: closes all connections and the port. */
  async kill(): Promise<void> {
    const server = this.server;
    this.server = undefined;
    if (server) {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    }
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk as Buffer);
    }
    const body = JSON.parse(Buffer.concat(chunks).toString() || "{}") as { model?: string; stream?: boolean };
    const model = body.model ?? "";
    const behaviour = typeof this.behaviour === "function" ? this.behaviour(model) : this.behaviour;
    await pause(behaviour.delay);
    if (this.key && request.headers.authorization !== `Bearer ${this.key}`) {
      send(response, 401, { error: { message: "Incorrect API key provided.", type: "invalid_request_error", param: null, code: "invalid_api_key" } });
    } else if (behaviour.fail) {
      const { status, message, retryAfter } = behaviour.fail;
      if (retryAfter) {
        response.setHeader("Retry-After", String(retryAfter));
      }
      send(response, status, { error: { message, type: "server_error", param: null, code: null } });
    } else if (request.url?.endsWith("/models")) {
      send(response, 200, { object: "list", data: this.models.map((id) => ({ id, object: "model" })) });
    } else if (body.stream) {
      await stream(response, model, behaviour);
    } else {
      send(response, 200, completion(model, behaviour));
    }
  }
}

const created = 1_790_000_000;

function completion(model: string, behaviour: Behaviour): object {
  const message = { role: "assistant", content: behaviour.answer ?? "Paris." };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  return { id: "chatcmpl-1", object: "chat.completion", created, model, choices, usage: usageOf(behaviour) };
}

async function stream(response: ServerResponse, model: string, behaviour: Behaviour): Promise<void> {
  const chunk = (choices: object[], more: object = {}) =>
    `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created, model, choices, ...more })}\n\n`;
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  const delta = { role: "assistant", content: behaviour.answer ?? "Paris." };
  response.write(chunk([{ index: 0, delta, finish_reason: null }]));
  await pause(behaviour.delay);
  response.write(chunk([{ index: 0, delta: {}, finish_reason: "stop" }]));
  response.write(chunk([], { usage: usageOf(behaviour) }));
  response.end("data: [DONE]\n\n");
}

function usageOf(behaviour: Behaviour): object {
  const { prompt, cached = 0, output, reasoning = 0 } = behaviour.usage ?? { prompt: 12, output: 5 };
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

async function pause(ms: number | undefined): Promise<void> {
  if (ms) {
    await new Promise((resolve) => setTimeout(resolve, ms));
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify(body));
}
