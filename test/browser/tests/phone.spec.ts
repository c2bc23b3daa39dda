import { chat } from "../support/client";
import { expect, expectAccessible, test, useWorld } from "../support/fixtures";

const world = useWorld();

test("requests are two-line rows, filters open in a sheet, and the detail is full screen", async ({ page }) => {
  const { client } = world;
  const key = await client.key("pocket");
  const { id } = await client.send({ key, body: chat("sim-nano", "Hello", { max_tokens: 8 }) });
  await client.logged(id);
  await page.goto(`${world.gateway.url}/requests`);

  await page.getByRole("button", { name: "Filters" }).tap();
  const sheet = page.getByRole("dialog", { name: "Filters" });
  await sheet.getByRole("checkbox", { name: /sim-nano/ }).check();
  await sheet.getByRole("button", { name: "Show requests" }).tap();
  await expect(page).toHaveURL(/model=sim-nano/);
  const row = page.getByRole("list", { name: "Requests" }).getByRole("link").first();
  await expect(row).toContainText("Hello"); // the prompt
  await expect(row).toContainText("sim-nano");
  await row.tap();
  const detail = page.getByRole("dialog");
  await expect(detail.getByText("Served by")).toBeVisible();
  expect((await detail.boundingBox())?.width).toBe(390);
});

test("the list can be sorted", async ({ page }) => {
  const { client } = world;
  const key = await client.key("order");
  const long = await client.send({ key, body: chat("sim-flagship", "The expensive one", { max_tokens: 60 }) });
  const short = await client.send({ key, body: chat("sim-nano", "The cheap one", { max_tokens: 8 }) });
  await client.logged(long.id, short.id);
  await page.goto(`${world.gateway.url}/requests`);
  const rows = page.getByRole("list", { name: "Requests" }).getByRole("link");
  await expect(rows.first()).toContainText("The cheap one");
  await page.getByRole("combobox", { name: "Sort" }).selectOption("Most expensive first");
  await expect(page).toHaveURL(/sort=cost/);
  await expect(rows.first()).toContainText("The expensive one");
  await expect(page.getByText("Sorted by cost: most expensive first.")).toBeVisible();
  await expectAccessible(page);
});

test("two requests are selected and compared", async ({ page }) => {
  const { client } = world;
  const key = await client.key("pair");
  const sent = [await client.send({ key, body: chat("sim-nano", "First of two") }), await client.send({ key, body: chat("sim-nano", "Second of two") })];
  await client.logged(...sent.map(({ id }) => id));
  await page.goto(`${world.gateway.url}/requests`);
  for (const name of ["First of two", "Second of two"]) {
    await page.getByRole("checkbox", { name: `Select for comparison: ${name}` }).tap();
  }
  const bar = page.getByRole("region", { name: "Selected requests" });
  await expect(bar).toContainText("2 requests selected");
  await expectAccessible(page);
  await bar.getByRole("link", { name: "Compare" }).tap();
  await expect(page.getByRole("table", { name: "Compared requests" })).toBeVisible();
});

test("the navigation opens and closes with the menu button", async ({ page }) => {
  await page.goto(`${world.gateway.url}/quickstart`);
  const pages = page.getByRole("navigation", { name: "Pages" });
  await expect(pages.getByRole("link", { name: "API keys" })).not.toBeInViewport();
  await page.getByRole("button", { name: "Navigation" }).tap();
  await pages.getByRole("link", { name: "API keys" }).tap();
  await expect(page.getByRole("heading", { level: 1, name: "API keys" })).toBeVisible();
  await expect(pages.getByRole("link", { name: "Members" })).not.toBeInViewport();
});
