import { chat } from "../support/client";
import { expect, expectAccessible, test, useWorld } from "../support/fixtures";
import { Upstream } from "../support/upstream";

let upstream: Upstream;
const world = useWorld(async () => {
  upstream = await Upstream.start();
  return {
    config: `
providers:
  - name: alpha
    base_url: ${upstream.baseUrl}
    models:
      - { name: cheap, input_per_mtok: 100, output_per_mtok: 100, context: 128000, quality: 0.9 }
`,
  };
});

test.afterAll(async () => upstream?.kill());

test("a budget is used up, rejects and is raised", async ({ page }) => {
  const { client, gateway } = world;
  const key = await client.newKey("nightly", {
    budget: { amount_usd: "0.5", period: "month", warn_percent: 80 },
    sessions: { user_budget: { amount_usd: "2", period: "day" } },
  });
  const first = await client.send({ key: key.secret, body: chat("cheap", "Hello.", { user: "anna", max_tokens: 100 }) });
  expect(first.status).toBe(200);
  const refused = await client.send({ key: key.secret, body: chat("cheap", "Hello.", { max_tokens: 100_000 }) });
  expect(refused.status).toBe(402);
  await client.logged(first.id, refused.id);

  await page.goto(`${gateway.url}/budgets`);
  await expect(page.getByRole("heading", { level: 1, name: "Budgets" })).toBeVisible();
  const row = page.getByRole("table", { name: "Budgets of the workspace and its keys" }).getByRole("row", { name: /nightly/ });
  await expect(row).toContainText("$0.5000 per month");
  await expect(row).toContainText("Not enough data for a forecast; resets 1 ");
  await expect(page.getByRole("table", { name: "Budgets of sessions and end users" }).getByRole("row", { name: /anna/ })).toContainText("End user of nightly");
  await expectAccessible(page);
  await page.screenshot({ path: test.info().outputPath("budgets.png"), fullPage: true });

  await row.getByRole("button", { name: "Change amount" }).click();
  const edit = page.getByRole("dialog", { name: "Edit budget “nightly”" });
  await edit.getByRole("textbox", { name: "Amount" }).fill("20");
  await expectAccessible(page);
  await edit.getByRole("button", { name: "Save" }).click();
  await expect(edit).toBeHidden();
  await expect(row).toContainText("$20.00 per month");
  expect(await client.call("GET", `/keys/${key.id}`)).toMatchObject({
    budget: { amount_usd: "20", period: "month", warn_percent: 80 },
    sessions: { user_budget: { amount_usd: "2" } },
  });
});

test("a session budget of a policy is listed", async ({ page }) => {
  const { client, gateway } = world;
  const key = await client.newKey("robots");
  await client.call("PUT", "/policies", {
    source: "policies:\n  - name: cap\n    session_budget: {amount_usd: 5, downgrade: true}\n",
    based_on: 0,
    note: "Limit sessions",
  });
  const sent = await client.send({ key: key.secret, headers: { "X-Fairlead-Session": "nightly-crawl" }, body: chat("cheap", "Hello.", { max_tokens: 100 }) });
  expect(sent.status).toBe(200);
  await client.logged(sent.id);
  await page.goto(`${gateway.url}/budgets`);
  const row = page.getByRole("table", { name: "Budgets of sessions and end users" }).getByRole("row", { name: /nightly-crawl/ });
  await expect(row).toContainText("Session of robots, set by a policy");
  await expect(row).toContainText("$5.00 in total");
  await expect(row.getByRole("button", { name: "Change amount" })).toBeHidden();
});

test("a budget is set for the workspace", async ({ page }) => {
  const { gateway } = world;
  await page.goto(`${gateway.url}/budgets`);
  await page.getByRole("button", { name: "Set workspace budget" }).click();
  const form = page.getByRole("dialog", { name: "Set workspace budget" });
  await form.getByRole("textbox", { name: "Amount" }).fill("250");
  await expectAccessible(page);
  await form.getByRole("button", { name: "Set budget" }).click();
  await expect(page.getByRole("row", { name: /\$250\.00 per month/ })).toContainText("Workspace");
  await expect(page.getByRole("button", { name: "Set workspace budget" })).toBeHidden();
});
