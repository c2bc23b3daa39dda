import type { Page } from "@playwright/test";

import { chat } from "../support/client";
import { expect, test, useWorld } from "../support/fixtures";

const world = useWorld();

const indicator = (page: Page) => page.getByRole("button", { name: /^Live updates/ });

/** Counts the open push connections of a page. */
function pushes(page: Page): { open: () => number; last: () => string } {
  const open = new Set<unknown>();
  let last = "";
  page.on("request", (request) => {
    if (request.url().includes("/requests/tail")) {
      open.add(request);
      last = request.url();
    }
  });
  page.on("requestfailed", (request) => open.delete(request));
  page.on("requestfinished", (request) => open.delete(request));
  return { open: () => open.size, last: () => last };
}

test("a tab has one push connection on any page, and none while hidden", async ({ page }) => {
  const push = pushes(page);
  await page.goto(`${world.gateway.url}/requests?from=now-1h&live=1`);
  await expect(indicator(page)).toHaveText("Live");
  await expect.poll(push.open).toBe(1);
  expect(push.last()).not.toContain("rows=none");

  await page.getByRole("link", { name: "Models" }).first().click();
  await expect(page.getByRole("heading", { level: 1, name: "Models" })).toBeVisible();
  await expect(indicator(page)).toHaveText("Live");
  await expect.poll(push.last).toContain("rows=none"); // a page that shows no requests gets counts only
  await expect.poll(push.open).toBe(1);

  await hide(page, true);
  await expect(indicator(page)).toHaveText("Paused");
  await expect.poll(push.open).toBe(0);
  await hide(page, false);
  await expect(indicator(page)).toHaveText("Live");
  await expect.poll(push.open).toBe(1);
});

test("live updates can be paused", async ({ page }) => {
  const push = pushes(page);
  await page.goto(world.gateway.url);
  await expect(indicator(page)).toHaveText("Live");
  await indicator(page).click();
  await expect(indicator(page)).toHaveText("Paused");
  await expect.poll(push.open).toBe(0);
  await indicator(page).click();
  await expect(indicator(page)).toHaveText("Live");
});

test("the indicator shows a lost connection and its recovery", async ({ page, watch }) => {
  watch.allow(/tail|ERR_CONNECTION|ERR_INCOMPLETE|\/health|Failed to load resource|Failed to fetch/);
  watch.allow(/response 503/); // a gateway that starts responds with 503 until its database is open
  await page.goto(`${world.gateway.url}/routing/models`);
  await expect(indicator(page)).toHaveText("Live");
  await world.gateway.whileStopped(async () => {
    await expect(indicator(page)).toHaveText("Reconnecting");
  });
  await expect(indicator(page)).toHaveText("Live", { timeout: 30_000 });
});

test("live tiles are refreshed when requests arrive", async ({ page }) => {
  const { client } = world;
  const key = await client.key("tiles");
  await client.logged((await client.send({ key, body: chat("sim-nano", "one") })).id);
  await page.goto(`${world.gateway.url}/?from=now-1h`);
  const tile = page.getByRole("link", { name: /^Requests/ }).filter({ hasText: "1" }).first();
  await expect(tile).toBeVisible();
  await page.getByRole("switch", { name: "Live" }).click();
  const refetched = page.waitForResponse((response) => response.url().includes("/api/v1/overview"), { timeout: 15_000 });
  await client.logged((await client.send({ key, body: chat("sim-nano", "two") })).id);
  await refetched;
});

async function hide(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { value, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
}
