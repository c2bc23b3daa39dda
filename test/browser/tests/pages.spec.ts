import type { Page } from "@playwright/test";

import { chat } from "../support/client";
import { expect, expectAccessible, test, useWorld } from "../support/fixtures";
import { navigation } from "../support/pages";

// These tests run on wide and narrow screens, in light and dark mode.
const world = useWorld();
let served = "";
let failed = "";

test.beforeAll(async () => {
  const { client } = world;
  const budget = { amount_usd: "0.00002", period: "month" };
  const key = await client.key("checkout", { budget: { ...budget, warn_only: true }, limits: { requests_per_minute: 600 } });
  const [a, b] = await Promise.all([
    client.send({ key, body: chat("auto", "Which rivers are longest?", { stream: true }) }),
    client.send({ key, body: chat("sim-small", "Fail.", { metadata: { simulate: "500" } }) }),
    client.send({ key, body: chat("sim-small", "Fall back.", { models: ["sim-nano"], metadata: { simulate: "503@sim-small" } }) }),
    client.send({ key, body: { model: "sim-embed-small", input: "words" }, endpoint: "embeddings" }),
  ]);
  [served, failed] = [a.id, b.id];
  await client.logged(served, failed);
});

test("every page is accessible and does not scroll sideways", async ({ page }) => {
  test.setTimeout(180_000);
  for (const { path, title } of navigation) {
    await test.step(title, async () => {
      await page.goto(world.gateway.url + path);
      await expect(page.getByRole("heading", { level: 1, name: title })).toBeVisible();
      await expectAccessible(page);
      expect(await sideways(page), `${title} scrolls sideways`).toBe(0);
    });
  }
});

test("the page of a request is accessible with its messages open", async ({ page }) => {
  await page.goto(`${world.gateway.url}/requests/${served}`);
  await page.getByRole("button", { name: "Show messages" }).click();
  await expect(page.getByText("Which rivers are longest?").first()).toBeVisible();
  await expectAccessible(page);
  await page.goto(`${world.gateway.url}/requests/${failed}`);
  await expect(page.getByText(/^Failed after/)).toBeVisible();
  await expectAccessible(page);
  expect(await sideways(page)).toBe(0);
});

test("redaction rules and their tester are accessible", async ({ page }) => {
  await page.goto(`${world.gateway.url}/settings/data`);
  const section = page.getByRole("region", { name: "Redaction" });
  await section.getByRole("switch", { name: "Use the gateway’s default rules" }).click();
  await section.getByRole("switch", { name: /^email/ }).click();
  await section.getByRole("button", { name: "Add rule" }).click();
  await section.getByLabel("Name of rule 1").fill("ticket");
  await section.getByLabel("Pattern of rule 1").fill("T-\\d+");
  await section.getByLabel("Test the rules").fill("ann@example.com wrote T-1");
  await expect(section.locator("mark")).toHaveCount(2);
  await expectAccessible(page);
  expect(await sideways(page)).toBe(0);
});

test("dialogs, menus and drawers are accessible", async ({ page }) => {
  await page.goto(`${world.gateway.url}/requests?from=now-1h&id=${served}`);
  await expect(page.getByRole("dialog").getByText("Served by")).toBeVisible();
  await expectAccessible(page);
  await page.goto(`${world.gateway.url}/settings/keys?create=1`);
  await expect(page.getByRole("dialog").getByRole("textbox", { name: "Name" })).toBeVisible();
  for (const fold of [/^Access/, /^Limits and budget/, /^Expiry/]) {
    await page.getByRole("button", { name: fold }).click();
  }
  await expect(page.getByRole("switch", { name: /OpenAI error format/ })).toBeVisible();
  await expectAccessible(page);
  await page.goto(`${world.gateway.url}/quickstart`);
  await page.getByRole("button", { name: "Search" }).click();
  await expect(page.getByRole("dialog").getByRole("option").first()).toBeVisible();
  await expectAccessible(page);
});

/** The number of pixels by which the page is wider than the window. */
function sideways(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}
