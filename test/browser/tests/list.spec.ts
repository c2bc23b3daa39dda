import type { Page } from "@playwright/test";

import { chat } from "../support/client";
import { expect, expectAccessible, test, useWorld } from "../support/fixtures";

const world = useWorld();
let newest = "";

test.beforeAll(async () => {
  const { client } = world;
  const key = await client.key("listed", { limits: { requests_per_minute: 6000 } });
  for (let i = 0; i < 22; i++) {
    const model = i === 7 ? "sim-flagship" : "sim-nano";
    newest = (await client.send({ key, body: chat(model, `Question ${i} about the weather in a small town`, { max_tokens: 8 }) })).id;
  }
  await client.logged(newest);
});

function rows(page: Page) {
  return page.getByRole("table", { name: "Requests" }).locator("tbody tr");
}

test("the list shows 18 prompts at 800 pixels, and its head stays visible", async ({ page }) => {
  await page.goto(`${world.gateway.url}/requests?from=now-1h`);
  await expect(rows(page)).toHaveCount(22);
  // The banner of the simulator is above the list.
  const banner = (await page.getByRole("status").filter({ hasText: "simulator" }).first().boundingBox())?.height ?? 0;
  const last = await rows(page).nth(17).boundingBox();
  expect((last?.y ?? 0) + (last?.height ?? 0)).toBeLessThanOrEqual(800 + banner + 16);
  const prompt = rows(page).first().getByRole("link");
  await expect(prompt).toHaveText("Question 21 about the weather in a small town");
  expect((await prompt.boundingBox())?.width).toBeGreaterThan(250);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)).toBe(0);
  await page.mouse.wheel(0, 400);
  await expect(page.getByRole("columnheader", { name: "Prompt" })).toBeInViewport();
  await page.getByRole("button", { name: "Hide chart" }).click();
  await expect(page.getByRole("img", { name: /^Requests over time/ })).toHaveCount(0);
});

test("a row is a link: it opens beside the list, and in a new tab with the middle button", async ({ page, context }) => {
  await page.goto(`${world.gateway.url}/requests?from=now-1h`);
  const row = rows(page).first();
  for (const target of [row.getByRole("link"), row.getByText("sim-nano")]) {
    const opened = context.waitForEvent("page");
    await target.click({ button: "middle" });
    const tab = await opened;
    await expect(tab).toHaveURL(`${world.gateway.url}/requests/${newest}`);
    await tab.close();
  }
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.keyboard.press("j");
  await expect(row.getByRole("link")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog").getByText("Served by")).toBeVisible();
  await expect(page).toHaveURL(new RegExp(`id=${newest}`));
});

test("the list is sorted by cost and by a preset", async ({ page }) => {
  await page.goto(`${world.gateway.url}/requests?from=now-1h`);
  await page.getByRole("button", { name: "In / out" }).click();
  await expect(page).toHaveURL(/sort=tokens/);
  await expect(page.getByText("The requests with the most tokens among the newest 10,000 in this time range.")).toBeVisible();
  await page.getByRole("button", { name: "Cost" }).click();
  await expect(page).toHaveURL(/sort=cost/);
  await expect(page.getByRole("columnheader", { name: "Cost" })).toHaveAttribute("aria-sort", "descending");
  await expect(rows(page).first()).toContainText("sim-flagship");
  await expect(page.getByText("Sorted by cost: most expensive first.")).toBeVisible();

  await page.getByRole("button", { name: "Presets" }).click();
  await page.getByRole("menuitem", { name: "Slowest" }).click();
  await expect(page).toHaveURL(/preset=slowest/);
  await expectAccessible(page);
});

test("two requests are compared", async ({ page }) => {
  await page.goto(`${world.gateway.url}/requests?from=now-1h`);
  const select = (i: number) => rows(page).nth(i).getByRole("checkbox").check();
  await select(0);
  await expect(page.getByText("Select another request to compare")).toBeVisible();
  await select(14); // the request to sim-flagship
  await page.getByRole("link", { name: "Compare" }).click();
  const figures = page.getByRole("table", { name: "Compared requests" });
  await expect(figures.getByRole("row", { name: /^Model/ })).toContainText("sim-nano");
  await expect(figures.getByRole("row", { name: /^Model/ })).toContainText("sim-flagship");
  await expect(figures.getByRole("row", { name: /^Cost/ })).toContainText("%");
  const prompts = page.getByRole("region", { name: "Prompts" });
  await expect(prompts.locator("del")).toHaveText("21");
  await expect(prompts.locator("ins")).toHaveText("7");
  await expect(page.getByRole("region", { name: "Responses" })).toBeVisible();
  await expectAccessible(page);
});
