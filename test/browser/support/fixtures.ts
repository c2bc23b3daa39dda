import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import { type BrowserContext, expect, type Page, test as base } from "@playwright/test";

import { Client, owner } from "./client";
import { Gateway, type GatewayOptions } from "./gateway";

export { expect } from "@playwright/test";

/** What a page did that no page may do. */
export class Watch {
  readonly problems: string[] = [];
  private readonly allowed: RegExp[] = [];

  /** Lets a test provoke what would fail it otherwise, such as an answer with status 401. */
  allow(pattern: RegExp): void {
    this.allowed.push(pattern);
  }

  /** Lets a test open requests that were told of live: the log has them a moment later, and the page asks again. */
  allowFresh(): void {
    this.allow(/404.*\/api\/v1\/requests\/req_/);
  }

  /** Follows everything that happens in a browser context. */
  follow(context: BrowserContext): void {
    const note = (problem: string) => {
      if (!this.allowed.some((pattern) => pattern.test(problem))) {
        this.problems.push(problem);
      }
    };
    context.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") {
        note(`console ${message.type()}: ${message.text()} (${message.location().url})`);
      }
    });
    context.on("weberror", (error) => note(`page error: ${error.error().stack ?? error.error().message}`));
    context.on("requestfailed", (request) => {
      const why = request.failure()?.errorText ?? "";
      // A page that is left ends what it had open.
      if (why !== "net::ERR_ABORTED") {
        note(`request failed: ${request.method()} ${request.url()} ${why}`);
      }
    });
    context.on("response", (response) => {
      if (response.status() >= 400) {
        note(`answer ${response.status()}: ${response.request().method()} ${response.url()}`);
      }
    });
    context.on("request", (request) => {
      const url = new URL(request.url());
      const ours = url.hostname === "127.0.0.1" || url.hostname === "fairlead.test";
      if (!ours && url.protocol !== "data:" && url.protocol !== "blob:") {
        note(`request to another origin: ${request.url()}`);
      }
    });
  }
}

/** Tests in which anything that goes wrong in the browser fails the test, whatever the page shows. */
export const test = base.extend<{ watch: Watch }>({
  // eslint-disable-next-line no-empty-pattern -- Playwright wants the destructuring
  watch: async ({}, use) => {
    const watch = new Watch();
    await use(watch);
    expect(watch.problems, "what went wrong in the browser").toEqual([]);
  },
  context: async ({ context, watch }, use) => {
    await prepare(context, watch);
    await use(context);
  },
});

/** Makes a context report what the policy for contents refuses, and follows it. */
export async function prepare(context: BrowserContext, watch: Watch): Promise<void> {
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      console.error(`refused by the content policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
    });
  });
  watch.follow(context);
}

/** A gateway with its first account, for all tests of a file. */
export interface World {
  gateway: Gateway;
  client: Client;
}

/**
 * Starts a gateway for the tests of a file and signs every one of them in. The options may depend on what was started
 * before, such as an upstream's address.
 */
export function useWorld(options: GatewayOptions | (() => Promise<GatewayOptions>) = {}): World {
  const world = {} as World;
  test.beforeAll(async () => {
    world.gateway = await Gateway.start(typeof options === "function" ? await options() : options);
    world.client = await new Client(world.gateway.url).register({ ...owner, setup_code: await world.gateway.setupCode() });
  });
  test.beforeEach(async ({ context }) => {
    await world.client.enter(context);
  });
  // eslint-disable-next-line no-empty-pattern -- Playwright wants the destructuring
  test.afterEach(({}, info) => {
    if (info.status !== info.expectedStatus) {
      console.log(world.gateway.log());
    }
  });
  test.afterAll(async () => {
    await world.gateway?.stop();
  });
  return world;
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Checks a page against the rules for accessibility, once nothing is loading. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.waitForLoadState("load");
  await expect(page.locator("[aria-busy=true]")).toHaveCount(0);
  // The script is put in by the browser's own tools, so the page's content policy stays as it is.
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    interface Violation {
      id: string;
      help: string;
      nodes: { html: string; failureSummary?: string }[];
    }
    const { axe } = window as unknown as { axe: { run: (options: object) => Promise<{ violations: Violation[] }> } };
    const { violations } = await axe.run({ resultTypes: ["violations"] });
    return violations.map((v) => `${v.id}: ${v.help}\n${v.nodes.map((n) => `  ${n.html}\n  ${n.failureSummary ?? ""}`).join("\n")}`);
  });
  expect(found, `accessibility of ${page.url()}`).toEqual([]);
}
