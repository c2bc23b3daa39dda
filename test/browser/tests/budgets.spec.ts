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

test("a budget is used up, rejects, is raised and watched", async ({ page }) => {
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

  await row.getByRole("link", { name: "nightly" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "nightly" })).toBeVisible();
  await expect(page.getByRole("region", { name: "Top models by spend" })).toContainText("cheap");
  await expect(page.getByRole("table", { name: "Requests rejected by this budget" })).toContainText(refused.id);
  await expectAccessible(page);

  await page.getByRole("button", { name: "Change amount" }).click();
  const edit = page.getByRole("dialog", { name: "Edit budget “nightly”" });
  await edit.getByRole("textbox", { name: "Amount" }).fill("20");
  await expectAccessible(page);
  await edit.getByRole("button", { name: "Save" }).click();
  await expect(edit).toBeHidden();
  await expect(page.getByText("API key · $20.00 per month")).toBeVisible();
  expect(await client.call("GET", `/keys/${key.id}`)).toMatchObject({
    budget: { amount_usd: "20", period: "month", warn_percent: 80 },
    sessions: { user_budget: { amount_usd: "2" } },
  });

  await page.getByRole("button", { name: "Add alert" }).click();
  const rule = page.getByRole("dialog", { name: "Add alert rule" });
  await expect(rule.getByRole("combobox", { name: "Metric" })).toHaveValue("Budget forecast");
  await expect(rule.getByRole("combobox", { name: "API key" })).toHaveValue("nightly");
  await rule.getByRole("button", { name: "Add rule" }).click();
  await expect(rule).toBeHidden();
  expect(await client.call("GET", "/alerts")).toMatchObject({ rules: [{ kind: "forecast", threshold: 100, key_id: key.id }] });
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
  await row.getByRole("link", { name: "nightly-crawl" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "nightly-crawl" })).toBeVisible();
  await expect(page.getByText("Session of robots, set by a policy · $5.00 in total")).toBeVisible();
  await expect(page.getByRole("button", { name: "Change amount" })).toBeHidden();
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

test("a forecast is drawn with its range, also on a phone", async ({ page }) => {
  const { gateway } = world;
  await page.route("**/api/v1/budgets/key_forecast", (route) => route.fulfill({ json: forecastBudget() }));
  await page.goto(`${gateway.url}/budgets/key_forecast`);
  await expect(page.getByText("Runs out around 24 November; resets 1 December")).toBeVisible();
  const chart = page.getByRole("region", { name: "Burn-down" });
  await expect(chart.getByText("80 % range")).toBeVisible();
  const plot = chart.getByRole("img", { name: "Spending against the budget" });
  await expect(plot).toBeVisible();
  await expectAccessible(page);
  await page.screenshot({ path: test.info().outputPath("burn-down.png"), fullPage: true });
  await page.setViewportSize({ width: 390, height: 844 });
  await expect(plot).toBeVisible();
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await page.screenshot({ path: test.info().outputPath("burn-down-phone.png"), fullPage: true });
  await chart.getByRole("button", { name: "View as table: Burn-down" }).click();
  await expect(chart.getByRole("table")).toContainText("$126.30");
});

/** A budget of 100 dollars that spends about five dollars a day. */
function forecastBudget() {
  const day = (n: number) => new Date(Date.UTC(2026, 10, n)).toISOString();
  const spent = [0, 5, 11, 14, 20, 24, 31, 35, 41, 44, 50, 53, 60, 64, 70, 73, 78];
  return {
    id: "key_forecast",
    kind: "key",
    name: "nightly",
    key_id: "key_forecast",
    key_name: "nightly",
    amount_usd: "100",
    spent_usd: "78",
    held_usd: "1.2",
    left_usd: "20.8",
    percent: 78,
    period: "month",
    zone: "",
    warn_percent: 80,
    warn_only: false,
    downgrade: false,
    starts_at: day(1),
    resets_at: day(31),
    can_edit: true,
    forecast: {
      outlook: "runs_out",
      per_day_usd: "3.1",
      expected_usd: "145",
      low_usd: "130",
      high_usd: "160",
      used_up_at: day(24),
      used_up_earliest: day(22),
      used_up_latest: day(27),
    },
    curve_start: day(1),
    curve: spent.map((dollars, i) => ({ at: day(i + 1), spent_usd: String(dollars) })),
    expected: Array.from({ length: 15 }, (_, i) => ({
      at: day(17 + i),
      expected_usd: String(78 + 3.45 * i),
      low_usd: String(78 + 2.5 * i),
      high_usd: String(78 + 4.6 * i),
    })),
    spenders: [
      { by: "model", name: "gpt-5", label: "gpt-5", requests: 1840, cost_usd: "61.2" },
      { by: "model", name: "gpt-5-mini", label: "gpt-5-mini", requests: 9120, cost_usd: "16.8" },
    ],
    rejected: [],
  };
}
