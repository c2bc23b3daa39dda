import type { Page } from "@playwright/test";

import { chat } from "../support/client";
import { expect, expectAccessible, test, useWorld } from "../support/fixtures";

// These tests run on wide and narrow screens.
const world = useWorld();
const ids = { auto: "", unstored: "", turn: "" };

test.beforeAll(async () => {
  const { client } = world;
  const key = await client.key("shop");
  ids.auto = (await client.send({ key, body: chat("auto:cost", "Describe a small harbour in one sentence.", { max_tokens: 40 }) })).id;
  ids.unstored = (await client.send({ key, body: chat("sim-nano"), headers: { "x-fairlead-log-body": "false" } })).id;
  const first = { role: "user", content: "Which files changed?" };
  const call = { id: "call_1", type: "function", function: { name: "list_files", arguments: "{}" } };
  const turn = [first, { role: "assistant", content: null, tool_calls: [call] }, { role: "tool", tool_call_id: "call_1", content: "main.go" }];
  ids.turn = (await client.send({ key, body: { model: "sim-nano", max_tokens: 20, session_id: "files-1", messages: turn } })).id;
  // A task that fails three times in the same way is escalated.
  const tries = Array.from({ length: 3 }, (_, i) => [
    { role: "assistant", content: null, tool_calls: [{ ...call, id: `call_${i}` }] },
    { role: "tool", tool_call_id: `call_${i}`, content: "Error: permission denied" },
  ]).flat();
  const tools = [{ type: "function", function: { name: "list_files", parameters: { type: "object" } } }];
  const stuck = await client.send({ key, body: { model: "auto", max_tokens: 20, tools, messages: [first, ...tries] } });
  await client.logged(ids.auto, ids.unstored, ids.turn, stuck.id);
});

async function sideways(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

test("a logged request runs on other models, with repeats, one baseline, differences and a rating", async ({ page }, info) => {
  await page.goto(`${world.gateway.url}/requests/${ids.auto}`);
  await page.getByRole("link", { name: "Run on other models" }).click();
  await expect(page).toHaveURL(new RegExp(`request=${ids.auto}&compare=1`));
  await expect(page.getByRole("log", { name: "Logged response" })).toContainText("Describe a small harbour");
  await expect(page.getByRole("textbox", { name: "Prompt" })).toHaveValue("Describe a small harbour in one sentence.");

  const repeats = page.getByRole("textbox", { name: "Repeats" });
  await repeats.focus();
  await page.keyboard.press("ArrowUp");
  await expect(repeats).toHaveValue("×2");
  await page.getByRole("textbox", { name: "Prompt" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Send 4 requests?" });
  await expect(dialog.getByRole("table", { name: "Estimated cost" }).getByRole("row", { name: /^Total 4 \$0\.0/ })).toBeVisible();
  await expectAccessible(page);
  await page.screenshot({ path: info.outputPath("estimate.png") });
  await page.keyboard.press("Enter"); // the button has the focus

  await expect(page.getByText("Response 1 of 2")).toHaveCount(2);
  await expect(page.getByRole("button", { name: "Send", exact: true })).toBeVisible();
  const totals = page.getByRole("region", { name: "Totals by column" });
  await expect(totals.getByRole("row", { name: /^Logged: / })).toContainText("baseline");
  await expect(totals.getByText(/^<?×[\d.]+$/)).toHaveCount(4);
  await expect(totals.getByText(/ ± /)).not.toHaveCount(0);
  await page.getByRole("button", { name: "Next response" }).first().click();
  await expect(page.getByText("Response 2 of 2")).toHaveCount(1);

  await page.getByRole("button", { name: "Show differences" }).click();
  const differences = page.getByRole("group", { name: /^Differences in / });
  await expect(differences).toHaveCount(2);
  await expect(differences.first()).toContainText(/% of the text is the same|No differences\./);
  await page.getByRole("combobox", { name: "Compare" }).selectOption({ index: 1 }); // the responses of the second column
  await expect(differences).toHaveCount(1);
  await expect(page.getByRole("group", { name: "Differences in response 2" })).toContainText(/% of the text is the same|No differences\./);
  const rated = page.getByRole("log", { name: /^Conversation with/ }).first().getByRole("group", { name: "Rating" });
  await rated.getByRole("button", { name: "Good response" }).click();
  await expect(rated.getByText("You rated this response good.")).toBeVisible();
  await page.mouse.move(0, 0);
  await expect(page.getByRole("tooltip")).toHaveCount(0);
  await expectAccessible(page);
  expect(await sideways(page)).toBe(0);
  await page.screenshot({ path: info.outputPath("compared.png"), fullPage: true });

  await page.getByRole("combobox", { name: "Baseline" }).click();
  await page.getByRole("option", { name: /^2\. / }).click();
  await expect(totals.getByRole("row", { name: /^Logged: / })).toContainText("×");
});

test("repeats stop, and a session turn is sent with its tool results", async ({ page }, info) => {
  await page.goto(`${world.gateway.url}/sessions/files-1`);
  await page.getByRole("group", { name: "Turn 1" }).getByRole("link", { name: "Run on other models" }).click();
  await expect(page.getByText("Includes 2 messages after the prompt, such as tool results.")).toBeVisible();
  await page.getByRole("textbox", { name: "Repeats" }).fill("10");
  const sent = page.waitForRequest((request) => request.url().includes("/playground/chat/completions"));
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByRole("button", { name: /^Send \d+ requests$/ }).click();
  const { messages } = (await sent).postDataJSON() as { messages: { role: string }[] };
  expect(messages.map((message) => message.role)).toEqual(["user", "assistant", "tool"]);
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.getByRole("button", { name: "Send", exact: true })).toBeVisible();
  await expect(page.getByText(/^Response 1 of [1-9]$/).first()).toBeVisible();
  await page.screenshot({ path: info.outputPath("stopped.png"), fullPage: true });
});

test("the list marks an escalated request", async ({ page }) => {
  await page.goto(`${world.gateway.url}/requests`);
  await expect(page.getByText("escalated", { exact: true })).toHaveCount(1);
});

test("a request without stored text shows a note", async ({ page }) => {
  await page.goto(`${world.gateway.url}/requests/${ids.unstored}`);
  await page.getByRole("link", { name: "Run on other models" }).click();
  await expect(page.getByText(/^Could not open req_\w+: The client disabled storing the bodies/)).toBeVisible();
});

test("the proof page computes savings against a chosen model", async ({ page }, info) => {
  await page.goto(`${world.gateway.url}/proof`);
  await page.getByRole("combobox", { name: "Baseline" }).focus();
  await page.keyboard.type("sim-flag");
  await expect(page.getByRole("option", { name: "sim-flagship" })).toBeVisible();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/baseline=sim-flagship/);
  await expect(page.getByText(/^Saved \$[\d.]+ of \$[\d.]+ against sim-flagship\./)).toBeVisible();
  await expect(page.getByText(/Computed from the recorded tokens of 4 logged requests at the prices that sim-flagship had/)).toBeVisible();
  await expectAccessible(page);
  expect(await sideways(page)).toBe(0);
  await page.screenshot({ path: info.outputPath("proof.png"), fullPage: true });
  await page.reload();
  await expect(page.getByText(/against sim-flagship\./)).toBeVisible();
  await page.getByRole("combobox", { name: "Baseline" }).click();
  await page.getByRole("option", { name: "As recorded" }).click();
  await expect(page).not.toHaveURL(/baseline=/);
});
