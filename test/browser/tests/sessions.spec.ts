import type { Page } from "@playwright/test";

import { chat } from "../support/client";
import { expect, expectAccessible, test, useWorld } from "../support/fixtures";

// These tests run on wide and narrow screens.
const world = useWorld();
let last = "";

test.beforeAll(async () => {
  const { client } = world;
  const key = await client.key("agent", { sessions: { budget: { amount_usd: "1", period: "total" } } });
  const first = { role: "user", content: "Fix the failing build." };
  const answer = { role: "assistant", content: "I looked at the log." };
  const second = { role: "user", content: "Now run the tests." };
  const one = await client.send({ key, body: { model: "sim-nano", max_tokens: 20, session_id: "build-42", messages: [first] } });
  const two = await client.send({ key, body: { model: "sim-small", max_tokens: 20, session_id: "build-42", messages: [first, answer, second] } });
  await client.send({ key, body: chat("sim-nano", "A single question", { max_tokens: 8 }) });
  await client.logged(one.id, two.id);
  last = two.id;
});

async function sideways(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

test("a session shows its turns with their new messages, and its budget", async ({ page }, info) => {
  await page.goto(`${world.gateway.url}/sessions`);
  await expect(page.getByText("Fix the failing build.").first()).toBeVisible();
  await expect(page.getByText("A single question")).toHaveCount(0);
  await expectAccessible(page);
  expect(await sideways(page)).toBe(0);
  await page.screenshot({ path: info.outputPath("sessions.png"), fullPage: true });
  await page.getByText("Fix the failing build.").first().click();

  await expect(page.getByRole("heading", { level: 1, name: "Session" })).toBeVisible();
  const turn = page.getByRole("group", { name: "Turn 2" });
  await expect(turn.getByText("was sim-nano")).toBeVisible();
  await expect(page.getByText("Session budget")).toBeVisible();
  await turn.getByRole("button", { name: "Show new messages" }).click();
  await expect(turn.getByText("Now run the tests.", { exact: true })).toBeVisible();
  await expect(turn.getByText("2 earlier messages not shown")).toBeVisible();
  await expect(turn.getByText("Fix the failing build.")).toHaveCount(0);
  await expectAccessible(page);
  expect(await sideways(page)).toBe(0);
  await page.screenshot({ path: info.outputPath("session.png"), fullPage: true });
});

test("a request links to its turn", async ({ page }) => {
  await page.goto(`${world.gateway.url}/requests/${last}?tab=details`);
  await expect(page.getByRole("table", { name: "Metadata" })).toBeVisible();
  await page.getByRole("link", { name: "build-42" }).click();
  await expect(page).toHaveURL(/\/sessions\/build-42\?turn=req_/);
  await expect(page.getByRole("group", { name: "Turn 2" }).getByText("Now run the tests.", { exact: true })).toBeVisible();
});
