import { expect, expectAccessible, test, useWorld } from "../support/fixtures";

const world = useWorld();

interface Overview {
  current: { requests: number; expected: number; fallbacks: number; errors: number; rejected: number; cached_tokens: number };
}

const figures = () => world.client.call<Overview>("GET", "/overview?from=now-1h");

test("sample traffic is one click on the empty overview, and fills every page", async ({ page }) => {
  test.setTimeout(120_000);
  await page.goto(world.gateway.url);
  await expect(page.getByText("No requests in this range")).toBeVisible();
  await page.getByRole("button", { name: "Create sample traffic" }).click();

  const strip = page.getByRole("status").filter({ hasText: "Creating sample traffic" });
  await expect(strip.getByRole("progressbar")).toBeVisible();
  await expectAccessible(page);
  // It goes on while the person looks at other pages.
  await page.getByRole("link", { name: "Models" }).first().click();
  await expect(strip).toBeVisible();
  await expect(page.getByText(/^\d+ sample requests created\.$/)).toBeVisible({ timeout: 90_000 });
  await expect(strip).toHaveCount(0);

  await expect.poll(async () => (await figures()).current.requests).toBeGreaterThan(40);
  const { current } = await figures();
  expect(current.expected).toBeGreaterThan(20);
  expect(current.fallbacks).toBeGreaterThan(1);
  expect(current.errors).toBeGreaterThan(1);
  expect(current.rejected).toBeGreaterThan(0);
  expect(current.cached_tokens).toBeGreaterThan(1000);
  await page.goto(world.gateway.url);
  await expect(page.getByRole("region", { name: "Decisions over time" })).toBeVisible();
  await expect(page.getByText("No requests in this range")).toHaveCount(0);
  await page.goto(`${world.gateway.url}/requests?from=now-1h&outcome=partial`);
  await expect(page.getByRole("row").filter({ hasText: "Read me the whole log" })).toContainText("SIMULATED");
  await page.goto(`${world.gateway.url}/requests?from=now-1h&outcome=rejected`);
  await expect(page.getByRole("row").filter({ hasText: "Use the best model" })).toContainText("sample traffic");
});

test("sample data is removed with its figures", async ({ page }) => {
  await page.goto(`${world.gateway.url}/settings/data`);
  const section = page.getByRole("region", { name: "Sample data" });
  await expect(section.getByRole("button", { name: "Create sample traffic" })).toBeVisible();
  await section.getByRole("button", { name: "Remove sample data" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect(section.getByText("There is none to remove")).toBeVisible();

  expect((await figures()).current.requests).toBe(0);
  await page.goto(`${world.gateway.url}/requests?from=now-1h`);
  await expect(page.getByRole("row")).toHaveCount(0);
  await page.goto(`${world.gateway.url}/settings/audit`);
  await expect(page.getByText("created sample traffic")).toBeVisible();
});

test("stopping ends the run and keeps what was made", async ({ page }) => {
  await page.goto(`${world.gateway.url}/quickstart`);
  await page.getByRole("button", { name: "Create sample traffic" }).click();
  const strip = page.getByRole("status").filter({ hasText: "Creating sample traffic" });
  await expect(strip).toContainText(/: [1-9]\d* of \d+/, { timeout: 20_000 });
  await strip.getByRole("button", { name: "Stop" }).click();
  await expect(page.getByText(/^Stopped after \d+ sample requests?\.$/)).toBeVisible();
  // The gateway is free for the next run at once.
  await expect(page.getByRole("button", { name: "Create sample traffic" })).toBeEnabled();
  await page.getByRole("button", { name: "Create sample traffic" }).click();
  await expect(strip).toContainText(/: [1-9]\d* of \d+/, { timeout: 20_000 });
  await strip.getByRole("button", { name: "Stop" }).click();
  await expect(strip).toHaveCount(0);
});
