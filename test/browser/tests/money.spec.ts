import type { Page } from "@playwright/test";

import { chat } from "../support/client";
import { expect, test, useWorld } from "../support/fixtures";
import { Upstream } from "../support/upstream";

// The expected costs, in millionths of a dollar, for 213 uncached and 1,024 cached input tokens and 89 output tokens:
//
//	cheap      213 × 0.15 + 1024 × 0.0375 + 89 × 0.6 = 31.95 + 38.4 + 53.4 = 123.75
//	expensive  213 × 2.5  + 1024 × 1.25   + 89 × 10  = 532.5 + 1280 + 890  = 2702.5
//
// and without a cache, for 1,237 input tokens:
//
//	cheap      1237 × 0.15 + 89 × 0.6 = 185.55 + 53.4 = 238.95
//	expensive  1237 × 2.5  + 89 × 10  = 3092.5 + 890  = 3982.5
const cached = { prompt: 1237, cached: 1024, output: 89, reasoning: 17 };
const uncached = { prompt: 1237, output: 89 };

let upstream: Upstream;
const world = useWorld(async () => {
  upstream = await Upstream.start();
  return {
    config: `
default_model: expensive
allow_unpriced: true
providers:
  - name: alpha
    base_url: ${upstream.baseUrl}
    models:
      - { name: cheap, input_per_mtok: 0.15, cache_read_per_mtok: 0.0375, output_per_mtok: 0.6, context: 128000, quality: 0.9 }
      - { name: expensive, input_per_mtok: 2.5, cache_read_per_mtok: 1.25, output_per_mtok: 10, context: 128000, quality: 0.3 }
      - { name: unpriced, context: 128000, quality: 0.1 }
`,
  };
});

test.afterAll(async () => upstream?.kill());

/** The rows of a bill by name. */
async function bill(page: Page): Promise<Record<string, string[]>> {
  const rows: Record<string, string[]> = {};
  for (const row of await page.getByRole("tabpanel", { name: "Cost" }).getByRole("row").all()) {
    const cells = await row.getByRole("cell").allInnerTexts();
    const heads = await row.getByRole("rowheader").allInnerTexts();
    const [name, ...rest] = [...heads, ...cells].map((text) => text.trim());
    rows[name ?? ""] = rest.filter((text) => text !== "");
  }
  return rows;
}

async function open(page: Page, model: string, more: object = {}): Promise<void> {
  const { client } = world;
  const key = await client.key(`${model} ${JSON.stringify(more)} ${Math.random()}`.slice(0, 90), { allow_unpriced: true });
  const { id, status } = await client.send({ key, body: chat(model, "Count.", more) });
  expect(status).toBe(200);
  await client.logged(id);
  await page.goto(`${world.gateway.url}/requests/${id}?tab=cost`);
  await expect(page.getByRole("tabpanel", { name: "Cost" })).toBeVisible();
}

test("cached tokens have their own rate, and rows sum to the exact total", async ({ page }) => {
  upstream.behaviour = { usage: cached };
  await open(page, "auto");

  expect(await bill(page)).toMatchObject({
    "Uncached input": ["213", "$0.1500", "$0.00003195", "$2.50", "$0.0005325"],
    "Cache read": ["1,024", "$0.03750", "$0.00003840", "$1.25", "$0.001280"],
    "Output including 17 reasoning": ["89", "$0.6000", "$0.00005340", "$10.00", "$0.0008900"],
    Total: ["$0.0001238", "$0.002703"],
    Saved: ["$0.002579"],
  });
  for (const exact of ["$0.00012375", "$0.0027025", "$0.00257875"]) {
    const rounded = { "$0.00012375": "$0.0001238", "$0.0027025": "$0.002703", "$0.00257875": "$0.002579" }[exact] ?? "";
    await page.getByRole("tabpanel", { name: "Cost" }).getByText(rounded, { exact: true }).hover();
    await expect(page.getByRole("tooltip", { name: exact, exact: true })).toBeVisible();
  }
  await expect(page.getByText("Served by")).toContainText("for $0.0001238, 95 % less than expensive ($0.002703).");
});

test("a stream without cached tokens is billed at the full rate", async ({ page }) => {
  upstream.behaviour = { usage: uncached };
  await open(page, "auto", { stream: true });

  expect(await bill(page)).toMatchObject({
    "Uncached input": ["1,237", "$0.1500", "$0.0001856", "$2.50", "$0.003093"],
    Output: ["89", "$0.6000", "$0.00005340", "$10.00", "$0.0008900"],
    Total: ["$0.0002390", "$0.003983"],
    Saved: ["$0.003744"],
  });
});

test("a negative saving is shown", async ({ page }) => {
  upstream.behaviour = { usage: cached };
  const { client } = world;
  const key = await client.key("wasteful", { baseline_model: "cheap", allowed_models: ["expensive"] });
  const { id } = await client.send({ key, body: chat("auto", "Count.") });
  await client.logged(id);

  await page.goto(`${world.gateway.url}/requests/${id}?tab=cost`);
  await expect(page.getByText("Served by")).toContainText("more than cheap ($0.0001238)");
  expect(await bill(page)).toMatchObject({ Total: ["$0.002703", "$0.0001238"], Saved: ["−$0.002579"] });
  await page.goto(`${world.gateway.url}/requests?preset=negative_savings&from=now-1h`);
  await expect(page.getByRole("row")).toHaveCount(2);
});

test("a model without a price has an unknown cost, is counted, and never shows $0", async ({ page }) => {
  upstream.behaviour = { usage: cached };
  await open(page, "unpriced");
  await expect(page.getByText("Served by")).toContainText("at an unknown cost");
  await expect(page.getByRole("tabpanel", { name: "Cost" })).toContainText("this model has no price");

  await page.goto(`${world.gateway.url}/requests?preset=unpriced&from=now-1h`);
  const row = page.getByRole("row").filter({ hasText: "unpriced" }).first();
  await expect(row).toContainText("—");
  await expect(row).not.toContainText("$0");
  await expect(page.getByText("1 matching request")).toBeVisible();
  await page.goto(`${world.gateway.url}/routing/models?q=unpriced`);
  await page.getByRole("row", { name: /unpriced/ }).getByRole("button", { name: "Set price" }).click();
  const dialog = page.getByRole("dialog", { name: "Price for unpriced" });
  await dialog.getByRole("textbox", { name: "Input" }).fill("3");
  await dialog.getByRole("textbox", { name: "Output" }).fill("6");
  await dialog.getByRole("button", { name: "Set price" }).click();
  await expect(page.getByText("Price of unpriced at alpha set.")).toBeVisible();
  await expect(page.getByRole("row", { name: /unpriced/ })).toContainText("$3.00");

  await open(page, "unpriced"); // the new price applies to this request
  await expect(page.getByText("Served by")).toContainText("for $");
  await expect(page.getByRole("tabpanel", { name: "Cost" })).toContainText("Override");
});
