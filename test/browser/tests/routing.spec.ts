import type { Page } from "@playwright/test";

import { chat } from "../support/client";
import { editorOf, save, write } from "../support/editor";
import { expect, expectAccessible, test, useWorld } from "../support/fixtures";

// These tests run on wide screens in light mode and on narrow screens in dark mode.
const world = useWorld();
let key = "";

test.beforeAll(async () => {
  key = await world.client.key("router");
  const prompts = ["Name three rivers.", "Write a Go function that sorts words.", "Translate 'house' into German.", "What is 17 times 23?"];
  const sent = await Promise.all(prompts.flatMap((p) => [p, `${p} Briefly.`]).map((p) => send("auto", p)));
  await world.client.logged(...sent);
});

async function send(model: string, prompt: string): Promise<string> {
  return (await world.client.send({ key, body: chat(model, prompt, { max_tokens: 24 }) })).id;
}

const open = (page: Page, search = "") => page.goto(`${world.gateway.url}/routing/policies${search}`);

/** Checks accessibility and that the page does not scroll sideways. */
async function expectSound(page: Page): Promise<void> {
  await expectAccessible(page);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), "scrolls sideways").toBe(0);
}

test("the quickstart waits for the first policy", async ({ page }) => {
  await page.goto(`${world.gateway.url}/quickstart`);
  const step = page.getByRole("region", { name: "First policy created" });
  await expect(step.getByRole("status")).toHaveText("Waiting");
  await step.getByRole("link", { name: "Policies" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Policies" })).toBeVisible();
});

test("an error in a draft is marked at line and column and prevents saving", async ({ page }) => {
  await open(page);
  await expect(page.getByText("No workspace policies yet")).toBeVisible();
  await write(page, "name: no-nano\nmodle: x\nexclude: {models: [sim-nno]}");
  const problems = page.getByRole("status", { name: "Errors" });
  await expect(problems).toContainText('Line 3, column 5: unknown field "modle"');
  await expect(problems).toContainText(/Line 4, column 24: .*"sim-nno".*did you mean "sim-nano"\?/);
  await expect(page.locator(".cm-lintRange-error")).toHaveText(["modle", "sim-nno"]);
  await expect(page.getByRole("button", { name: "Save…" })).toBeDisabled();
  await expect(page.getByRole("region", { name: "Unsaved changes" })).toContainText("Fix 2 errors");
  await expectSound(page);

  await problems.getByRole("button", { name: "Line 4, column 24" }).click();
  await expect(editorOf(page)).toBeFocused();
  await write(page, "name: no-nano\nexclude: {models: [sim-nano]}");
  await expect(problems).toHaveCount(0);
  await expect(page.getByRole("listitem", { name: "no-nano" })).toContainText("Excludes models sim-nano");
  await expect(page.getByRole("button", { name: "Save…" })).toBeEnabled();
});

test("a dry run shows the changes of a draft without calling a provider", async ({ page }) => {
  const before = await world.client.call<{ requests: unknown[] }>("GET", "/requests?limit=200&from=now-1h");
  await open(page);
  await write(page, 'name: best\nwhen: request.auto\npin: sim-large');
  await page.getByText("Dry run", { exact: true }).click();
  await page.getByRole("textbox", { name: "Prompt or body" }).fill("Name three rivers.");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByRole("group", { name: "Current policies", exact: true })).not.toContainText("sim-large");
  await expect(page.getByRole("group", { name: "Draft", exact: true })).toContainText("simulator/sim-large");
  const rows = page.getByRole("table", { name: "Differences" }).getByRole("row");
  await expect(rows.filter({ hasText: "Matching policies" })).toContainText("none");
  await expect(rows.filter({ hasText: "Matching policies" })).toContainText("best");
  await expectSound(page);

  await page.getByRole("button", { name: "Show both traces" }).click();
  const traces = page.getByRole("dialog");
  const draft = traces.getByRole("region", { name: "Draft", exact: true });
  await expect(draft.getByRole("listitem").filter({ hasText: "best matched" })).toContainText("differs");
  await expect(draft.getByRole("row", { name: /sim-large/ }).first()).toContainText("differs");
  await expectSound(page);
  await page.keyboard.press("Escape");

  await page.getByText("Logged request", { exact: true }).click();
  await page.getByRole("combobox", { name: "Request" }).click();
  await page.getByRole("option", { name: /Name three rivers\.$/ }).click();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByRole("group", { name: "Draft", exact: true })).toContainText("simulator/sim-large");
  await page.getByText("Recent traffic", { exact: true }).click();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByText("8 (100.0 %)")).toBeVisible();

  const after = await world.client.call<{ requests: unknown[] }>("GET", "/requests?limit=200&from=now-1h");
  expect(after.requests.length).toBe(before.requests.length);
});

test("a backtest re-runs past requests", async ({ page }) => {
  await open(page);
  await write(page, "name: best\nwhen: request.auto\npin: sim-flagship");
  await page.getByRole("tab", { name: "Backtest" }).click();
  await page.getByRole("button", { name: "Run backtest" }).click();
  await expect(page.getByText(/^Re-ran 8 of \d+ requests/)).toBeVisible();
  await expect(page.getByRole("group", { name: "Changed model" })).toContainText("100.0 %");
  await expect(page.getByRole("table", { name: "Changed routes" }).getByRole("columnheader", { name: "sim-flagship" })).toBeVisible();
  await expect(page.getByRole("table", { name: "Policies in the backtest" }).getByRole("row", { name: /^best/ })).toContainText("8");
  await expect(page.getByText("Quality is predicted, because no responses are generated.")).toBeVisible();
  await expectSound(page);

  const address = page.url();
  expect(address).toContain("backtest=");
  await page.getByRole("table", { name: "Largest changes" }).getByRole("link").first().click();
  await page.getByRole("dialog", { name: "Leave without saving?" }).getByRole("button", { name: "Leave" }).click();
  await expect(page.getByText("Served by")).toBeVisible();
  await page.goto(address); // the gateway has stored the result of the backtest
  await expect(page.getByText(/^Re-ran 8 of \d+ requests/)).toBeVisible();
});

test("saving creates a version that is active immediately, and rolling back creates another", async ({ page }) => {
  await open(page);
  await page.getByRole("button", { name: "Insert: Cost limit per request" }).click();
  await expect(editorOf(page)).toContainText("max_cost_usd: 0.05");
  await expect(page.getByRole("button", { name: "Save…" })).toBeEnabled();
  await save(page, "cost limit");
  await write(page, "name: best\nwhen: request.auto\npin: sim-flagship");
  await page.getByRole("button", { name: "Save…" }).click();
  const changes = page.getByRole("dialog").getByRole("region", { name: "Changes" });
  await expect(changes.getByRole("row").filter({ hasText: "added:" })).toContainText(["name: best", "when: request.auto", "pin: sim-flagship"]);
  await expectSound(page);
  await page.keyboard.press("Escape");
  await save(page, "the best for all");
  const pinned = await world.client.send({ key, body: chat("auto", "Name three lakes.", { max_tokens: 8 }) });
  expect(pinned.headers.get("x-fairlead-model")).toBe("sim-flagship");
  expect(pinned.headers.get("x-fairlead-policy")).toBe("best");

  await page.getByRole("tab", { name: "Versions" }).click();
  const versions = page.getByRole("table", { name: "Versions" }).getByRole("row");
  await expect(versions.nth(1)).toContainText("the best for all");
  await expect(versions.nth(2)).toContainText("cost limit");
  await expect(page.getByRole("region", { name: "From version 1 to 2" })).toContainText("pin: sim-flagship");
  await expectSound(page);
  await page.getByRole("button", { name: "Roll back to version 1" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
  await expect(versions.nth(1)).toContainText("Restored version 1");
  const free = await world.client.send({ key, body: chat("auto", "Name three lakes.", { max_tokens: 8 }) });
  expect(free.headers.get("x-fairlead-model")).not.toBe("sim-flagship");
  await page.getByRole("tab", { name: "Policies", exact: true }).click();
  await expect(page.getByRole("listitem", { name: "cost-cap" })).toContainText("Max $0.05");
  await page.goto(`${world.gateway.url}/quickstart`);
  await expect(page.getByRole("region", { name: "First policy created" }).getByRole("status")).toHaveText("Done");
});

test("a request shows its trace, can be verified, and its response rated", async ({ page }) => {
  const id = await send("auto", "Write a Go function that reverses a list, and prove that it ends.");
  await world.client.logged(id);
  await page.goto(`${world.gateway.url}/requests/${id}?tab=why`);
  const trace = page.getByRole("tabpanel", { name: "Why" });
  await expect(trace).toContainText("coding task");
  await expect(trace).toContainText(/Known words: \d+ %/);
  await expect(trace.getByRole("row").nth(1)).toContainText(/> 0\.99|0\.\d\d ± 0\.\d\d/);
  await trace.getByRole("button", { name: "Verify" }).click();
  await expect(trace.getByText("Verified: the decision was reproduced.")).toBeVisible();

  await page.getByRole("tab", { name: "Conversation" }).click();
  const rating = page.getByRole("group", { name: "Rating" });
  await rating.getByRole("button", { name: "Good response" }).click();
  await expect(rating.getByText("You rated this response good.")).toBeVisible();
  await rating.getByRole("button", { name: "Bad response" }).click();
  await expect(rating.getByText("You rated this response bad.")).toBeVisible();
  await rating.getByRole("button", { name: "Add comment" }).click();
  await rating.getByLabel("Comment").fill("does not end");
  await rating.getByRole("button", { name: "Save" }).click();
  await expect(rating.getByText("“does not end”")).toBeVisible();
  await page.mouse.move(0, 0); // saving moves the page content under the pointer, which may open the tooltip of a timestamp
  await expect(page.getByRole("tooltip")).toHaveCount(0);
  await expectSound(page);
  await page.reload();
  await expect(rating.getByRole("button", { name: "Bad response" })).toHaveAttribute("aria-pressed", "true");
  await expect(rating.getByText("“does not end”")).toBeVisible();

  await open(page, "?tab=ratings");
  await expect(page.getByText("1 of at least 50 ratings and verdicts")).toBeVisible(); // too few to change the routing
  const abilities = page.getByRole("table", { name: "Learned abilities" });
  await expect(abilities.getByRole("row", { name: / Code / })).toBeVisible();
  await expectSound(page);
  await page.getByRole("button", { name: /^Reset outcomes of/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Reset" }).click();
  await expect(abilities).toHaveCount(0);
});
