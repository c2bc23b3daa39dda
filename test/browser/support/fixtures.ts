import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import { type BrowserContext, expect, type Page, test as base } from "@playwright/test";

import { Client, owner } from "./client";
import { Gateway, type GatewayOptions } from "./gateway";

export { expect } from "@playwright/test";

/** Collects console errors, failed requests and requests to other origins. */
export class Watch {
  readonly problems: string[] = [];
  private readonly allowed: RegExp[] = [];

  /** Allows problems that a test provokes, such as a response with status 401. */
  allow(pattern: RegExp): void {
    this.allowed.push(pattern);
  }

  /** Allows 404 for requests from a live list: the log has them shortly after, and the page retries. */
  allowRecent(): void {
    this.allow(/404.*\/api\/v1\/requests\/req_/);
  }

  /** Watches a browser context. */
  observe(context: BrowserContext): void {
    const record = (problem: string) => {
      if (!this.allowed.some((pattern) => pattern.test(problem))) {
        this.problems.push(problem);
      }
    };
    context.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") {
        record(`console ${message.type()}: ${message.text()} (${message.location().url})`);
      }
    });
    context.on("weberror", (error) => record(`page error: ${error.error().stack ?? error.error().message}`));
    context.on("requestfailed", (request) => {
      const reason = request.failure()?.errorText ?? "";
      // Leaving a page aborts its open requests.
      if (reason !== "net::ERR_ABORTED") {
        record(`request failed: ${request.method()} ${request.url()} ${reason}`);
      }
    });
    context.on("response", (response) => {
      if (response.status() >= 400) {
        record(`response ${response.status()}: ${response.request().method()} ${response.url()}`);
      }
    });
    context.on("request", (request) => {
      const url = new URL(request.url());
      const ours = url.hostname === "127.0.0.1" || url.hostname === "fairlead.test";
      if (!ours && url.protocol !== "data:" && url.protocol !== "blob:") {
        record(`request to another origin: ${request.url()}`);
      }
    });
  }
}

/** A test that fails on any problem in the browser, even if the page looks right. */
export const test = base.extend<{ watch: Watch }>({
  // eslint-disable-next-line no-empty-pattern -- required by Playwright
  watch: async ({}, use) => {
    const watch = new Watch();
    await use(watch);
    expect(watch.problems, "problems in the browser").toEqual([]);
  },
  context: async ({ context, watch }, use) => {
    await prepare(context, watch);
    await use(context);
  },
});

/** Reports CSP violations of a browser context on its console and collects its problems. */
export async function prepare(context: BrowserContext, watch: Watch): Promise<void> {
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      console.error(`blocked by the CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
    });
  });
  watch.observe(context);
}

/** A gateway with its owner account, shared by the tests of a file. */
export interface World {
  gateway: Gateway;
  client: Client;
}

/**
 * Starts a gateway for the tests of a file and signs each test in. The options may be computed, for example from the
 * address of an upstream.
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
  // eslint-disable-next-line no-empty-pattern -- required by Playwright
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

/** Checks the accessibility of a page after loading has finished. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.waitForLoadState("load");
  await expect(page.locator("h1")).not.toHaveCount(0); // wait for the first rendering, because the next check would pass on an empty page
  await expect(page.locator("[aria-busy=true]")).toHaveCount(0);
  // evaluate() is not subject to the page's CSP.
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
