import { mkdir } from "node:fs/promises";

import type { Page } from "@playwright/test";

import { root } from "../support/binary";
import { Client, owner } from "../support/client";
import { editorOf, write } from "../support/editor";
import { expect, prepare, test } from "../support/fixtures";
import { Gateway } from "../support/gateway";
import { navigation } from "../support/pages";
import { nearlySpend, sampleBehaviour, sampleConfig, sampleKeys, samplePast, sampleTraffic, sampleFailures } from "../support/traffic";
import { Upstream } from "../support/upstream";

const folder = `${root}/test-results/screenshots`;

const samplePolicies = `policies:
  - name: replies
    description: Replies to customers are short.
    when: request.tags["feature"] == "replies" && request.auto
    max_output_tokens: 1500
    objective: cost
  - name: no-flagship
    when: key.tags["team"] == "search"
    exclude: {models: [gpt-6-sol]}
  - name: confidential
    enabled: false
    when: key.tags["data"] == "confidential"
    log_bodies: false
`;

const looks = [
  { name: "light", use: { colorScheme: "light", viewport: { width: 1280, height: 800 } } },
  { name: "dark", use: { colorScheme: "dark", viewport: { width: 1280, height: 800 } } },
  { name: "phone", use: { colorScheme: "light", viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 } },
] as const;

test("screenshots of every page", async ({ browser, watch }) => {
  await mkdir(folder, { recursive: true });
  const names = ["openai", "mistral", "deepseek"];
  const started = await Promise.all(names.map((name) => Upstream.start(sampleBehaviour(name))));
  const upstreams = Object.fromEntries(names.map((name, i) => [name, started[i] as Upstream]));
  const gateway = await Gateway.start({ config: sampleConfig(upstreams) });
  const empty = await Gateway.start();
  try {
    const client = await new Client(gateway.url).register({ ...owner, workspace: "Northwind", setup_code: await gateway.setupCode() });
    await client.call("POST", "/workspace/invitations", { role: "developer" });
    const keys = await sampleKeys(client);
    await samplePast(gateway, client, keys);
    await sampleFailures(client, keys);
    const ids = await sampleTraffic(client, keys, 64);
    expect(ids).toMatchObject({ fallback: expect.stringMatching(/^req_/), usual: expect.stringMatching(/^req_/) });
    await client.logged(ids.fallback ?? "", ids.usual ?? "");
    await nearlySpend(client, keys[0]?.id ?? "");
    await client.call("PUT", "/policies", { source: samplePolicies, based_on: 0, note: "shop traffic first" });
    for (const id of Object.values(ids)) {
      await client.call("POST", `/requests/${id}/feedback`, { score: 1, comment: "to the point" });
    }

    for (const look of looks) {
      const context = await browser.newContext({ ...look.use, reducedMotion: "reduce", timezoneId: "UTC", locale: "en-US" });
      await prepare(context, watch);
      await client.enter(context);
      const page = await context.newPage();
      const shoot = (name: string) => take(page, `${name}-${look.name}`);
      for (const { path, title, file } of navigation) {
        const range = path === "/" ? "?from=now-30d" : "";
        await page.goto(gateway.url + path + range);
        await expect(page.getByRole("heading", { level: 1, name: title })).toBeVisible();
        await shoot(file);
      }
      await policies(page, gateway.url, shoot);
      for (const [name, id] of Object.entries(ids)) {
        await page.goto(`${gateway.url}/requests/${id}`);
        await page.getByRole("button", { name: "Show messages" }).click();
        await expect(page.getByRole("region", { name: /^Message 1/ })).toBeVisible();
        await shoot(`request-${name}`);
      }
      if (look.name === "light") {
        await documentation(page, gateway.url, ids.usual ?? "");
      }
      await page.goto(`${gateway.url}/requests?id=${ids.fallback}`);
      await expect(page.getByRole("dialog").getByText("Served by")).toBeVisible();
      await shoot("request-drawer");
      await page.goto(`${gateway.url}/settings/keys?create=1`);
      await page.getByRole("button", { name: /^Limits and budget/ }).click();
      await expect(page.getByRole("textbox", { name: "Budget (USD)" })).toBeVisible();
      await shoot("key-create");
      await context.clearCookies();
      await page.goto(gateway.url);
      await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
      await shoot("sign-in");
      await page.goto(empty.url);
      await expect(page.getByRole("heading", { name: "Create the owner account" })).toBeVisible();
      await shoot("register");
      await context.close();
    }
  } finally {
    await gateway.stop();
    await empty.stop();
    await Promise.all(started.map((upstream) => upstream.kill()));
  }
});

/** Takes screenshots of a draft with an error, of a dry run, a backtest, the versions and the ratings. */
async function policies(page: Page, url: string, shoot: (name: string) => Promise<void>): Promise<void> {
  await page.goto(`${url}/routing/policies`);
  await expect(editorOf(page)).toContainText("name: replies");
  await page.getByRole("button", { name: "1. replies" }).click();
  await shoot("policies-form");
  await write(page, "name: replies\npin: gpt-5-mni");
  await expect(page.getByRole("status", { name: "Errors" })).toBeVisible();
  await shoot("policies-problem");
  await write(page, 'name: replies\nwhen: request.auto\nobjective: quality', "name: cap\nmax_cost_usd: 0.05");
  await page.getByText("Dry run", { exact: true }).click();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByRole("button", { name: "Show both traces" })).toBeVisible();
  await shoot("policies-dry-run");
  await page.getByRole("button", { name: "Show both traces" }).click();
  await expect(page.getByRole("dialog").getByRole("heading", { name: "Draft", exact: true })).toBeVisible();
  await shoot("policies-traces");
  await page.keyboard.press("Escape");
  await page.getByRole("tab", { name: "Backtest" }).click();
  await page.getByRole("button", { name: "Run backtest" }).click();
  await expect(page.getByRole("heading", { name: "Largest changes" })).toBeVisible();
  await shoot("policies-backtest");
  await page.goto("about:blank"); // discards the draft
  for (const tab of ["versions", "ratings"]) {
    await page.goto(`${url}/routing/policies?tab=${tab}`);
    await expect(page.getByRole("tab", { selected: true })).toBeVisible();
    await shoot(`policies-${tab}`);
  }
}

/** Waits until loading has finished and the charts are drawn. */
async function settled(page: Page): Promise<void> {
  await expect(page.locator("[aria-busy=true]")).toHaveCount(0);
  if (new URL(page.url()).pathname === "/" && (await page.getByRole("heading", { name: "Overview" }).count()) > 0) {
    await expect(page.locator("svg.recharts-surface")).not.toHaveCount(0);
  }
}

/** Takes the two screenshots for docs/images, limited in height. */
async function documentation(page: Page, url: string, id: string): Promise<void> {
  const window = page.viewportSize();
  for (const [path, name, height] of [
    ["/?from=now-30d", "overview", 950],
    [`/requests/${id}`, "request", 950],
  ] as const) {
    await page.setViewportSize({ width: 1280, height });
    await page.goto(url + path);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await settled(page);
    await page.screenshot({ path: `${folder}/docs-${name}.png`, animations: "disabled" });
  }
  await page.setViewportSize(window ?? { width: 1280, height: 800 });
}

/** Takes a screenshot of the whole page, or of the window when a dialog is open, after loading has finished. */
async function take(page: Page, name: string): Promise<void> {
  await settled(page);
  const window = page.viewportSize() ?? { width: 1280, height: 800 };
  if ((await page.getByRole("dialog").count()) === 0) {
    await page.evaluate(() => scrollTo(0, 0));
    // Fixed elements would be in the middle of a full-page screenshot, so the window is enlarged instead.
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    await page.setViewportSize({ width: window.width, height: Math.min(Math.max(height, window.height), 2600) });
  }
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  await page.screenshot({ path: `${folder}/${name}.png`, animations: "disabled" });
  await page.setViewportSize(window);
}
