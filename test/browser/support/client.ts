import type { BrowserContext } from "@playwright/test";

/** The account that registers first on a gateway. */
export const owner = { name: "Ada Osei", email: "ada@example.com", password: "correct horse battery" };

/** Input of a registration. */
export interface Person {
  name: string;
  email: string;
  password: string;
  workspace?: string;
  setup_code?: string;
  invitation?: string;
}

/** A call to the model API. */
export interface Call {
  key: string;
  body: unknown;
  endpoint?: string;
  headers?: Record<string, string>;
}

/** The response to a model API call. */
export interface ModelResponse {
  status: number;
  /** The id of the request in the dashboard. */
  id: string;
  headers: Headers;
  text: string;
}

/** A body in the chat format. */
export function chat(model: string, content = "What is the capital of France?", more: object = {}): object {
  return { model, messages: [{ role: "user", content }], ...more };
}

/** A client of the admin API, with a session, and of the model API. */
export class Client {
  private cookie = "";

  constructor(readonly url: string) {}

  /** Registers the first account with the setup code, or another one with an invitation, and signs in. */
  async register(person: Person): Promise<this> {
    await this.call("POST", "/registration", person);
    await this.call("POST", "/session", { email: person.email, password: person.password });
    return this;
  }

  /** Signs a browser in with this client's session. */
  async enter(context: BrowserContext, url = this.url): Promise<void> {
    const [name, value] = this.cookie.split("=", 2);
    await context.addCookies([{ name: name ?? "", value: value ?? "", url, httpOnly: true, sameSite: "Lax" }]);
  }

  /** Calls the admin API; throws on an error status. */
  async call<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { "Content-Type": "application/json", Origin: this.url, ...(this.cookie ? { Cookie: this.cookie } : {}) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) {
      throw new Error(`${method} ${path}: ${response.status} ${text}`);
    }
    const session = response.headers.getSetCookie().find((cookie) => cookie.startsWith("fairlead_session="));
    this.cookie = session?.split(";")[0] ?? this.cookie;
    return (text ? JSON.parse(text) : undefined) as T;
  }

  /** Returns the response of the admin API as text. */
  async text(path: string): Promise<string> {
    const response = await fetch(`${this.url}/api/v1${path}`, { headers: { Cookie: this.cookie } });
    if (!response.ok) {
      throw new Error(`GET ${path}: ${response.status}`);
    }
    return response.text();
  }

  /** Creates a key and returns its secret. */
  async key(name: string, more: object = {}): Promise<string> {
    return (await this.newKey(name, more)).secret;
  }

  /** Creates a key. */
  async newKey(name: string, more: object = {}): Promise<{ id: string; secret: string }> {
    return this.call("POST", "/keys", { name, ...more });
  }

  /** Calls the model API as a server would and returns any status. */
  async send({ key, body, endpoint = "chat/completions", headers = {} }: Call): Promise<ModelResponse> {
    const response = await fetch(`${this.url}/proxy/v1/${endpoint}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}`, ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, id: response.headers.get("x-request-id") ?? "", headers: response.headers, text };
  }

  /** Waits until the log has these requests, which are written shortly after the response. */
  async logged(...ids: string[]): Promise<void> {
    for (const id of ids) {
      await eventually(`request ${id} in the log`, async () => {
        const response = await fetch(`${this.url}/api/v1/requests/${id}`, { headers: { Cookie: this.cookie } });
        return response.ok && ((await response.json()) as { state: string }).state === "done";
      });
    }
  }
}

/** Polls a condition until it is true, and throws after a number of seconds. */
export async function eventually(what: string, condition: () => Promise<boolean>, seconds = 20): Promise<void> {
  const end = Date.now() + seconds * 1000;
  while (!(await condition())) {
    if (Date.now() > end) {
      throw new Error(`timed out after ${seconds} seconds waiting for: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
