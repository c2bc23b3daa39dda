import { expect, expectAccessible, test, useWorld } from "../support/fixtures";

const world = useWorld();

interface Overview {
  current: { requests: number; expected: number; fallbacks: number; errors: number; rejected: number; cached_tokens: number };
}

interface Past {
  current: { requests: number };
  breakdowns: Record<"key" | "policy", { name: string; label: string }[]>;
  series: { requests: number; fallbacks: number; errors: number }[];
}

const figures = () => world.client.call<Overview>("GET", "/overview?from=now-1h");

test("sample traffic is created with one click on the empty overview", async ({ page }) => {
  test.setTimeout(120_000);
  await page.goto(world.gateway.url);
  await expect(page.getByText("No requests in this time range")).toBeVisible();
  await page.getByRole("button", { name: "Create sample traffic" }).click();

  const banner = page.getByRole("status").filter({ hasText: "Creating sample traffic" });
  await expect(banner.getByRole("progressbar")).toBeVisible();
  await expectAccessible(page);
  // The sample traffic continues while the user opens another page.
  await page.getByRole("link", { name: "Models" }).first().click();
  await expect(banner).toBeVisible();
  await expect(page.getByText(/^Created [\d,]+ sample requests\.$/)).toBeVisible({ timeout: 90_000 });
  await expect(banner).toHaveCount(0);

  await expect(async () => {
    const { current } = await figures();
    expect(current.requests).toBeGreaterThan(40);
    expect(current.expected).toBeGreaterThan(20);
    expect(current.fallbacks).toBeGreaterThan(1);
    expect(current.errors).toBeGreaterThan(1);
    expect(current.rejected).toBeGreaterThan(0);
    expect(current.cached_tokens).toBeGreaterThan(1000);
  }).toPass(); // the log shows entries shortly after their requests
  await page.goto(world.gateway.url);
  await expect(page.getByRole("region", { name: "Decisions over time" })).toBeVisible();
  await expect(page.getByText("No requests in this time range")).toHaveCount(0);
  await page.goto(`${world.gateway.url}/requests?from=now-1h&outcome=partial`);
  // The number of these requests in the last hour depends on the time of day.
  await expect(page.getByRole("row").filter({ hasText: "Read me the whole log" }).first()).toContainText("SIMULATED");
  await page.goto(`${world.gateway.url}/requests?from=now-1h&outcome=rejected`);
  await expect(page.getByRole("row").filter({ hasText: "Use the best model" }).first()).toContainText("sample web app");

  // The sample history covers two weeks and contains three keys, a policy and an incident.
  const past = await world.client.call<Past>("GET", "/overview?from=now-14d");
  expect(past.current.requests).toBeGreaterThan(1000);
  expect(past.breakdowns.key.map((group) => group.label).sort()).toEqual(["sample batch jobs", "sample support bot", "sample web app"]);
  expect(past.breakdowns.policy.map((group) => group.name)).toContain("sample-batch-jobs");
  expect(past.series.filter((bin) => bin.requests > 0).length).toBeGreaterThan(13);
  const week = await world.client.call<Past>("GET", "/overview?from=now-7d");
  const worst = Math.max(...week.series.map((bin) => (bin.requests > 4 ? (bin.fallbacks + bin.errors) / bin.requests : 0)));
  expect(worst).toBeGreaterThan(0.3);
});

test("removing sample data also removes its figures", async ({ page }) => {
  await page.goto(`${world.gateway.url}/settings/data`);
  const section = page.getByRole("region", { name: "Sample data" });
  await expect(section.getByRole("button", { name: "Create sample traffic" })).toBeVisible();
  await section.getByRole("button", { name: "Remove sample data" }).click();
  await expect(section.getByText("No simulated requests.")).toBeVisible();

  expect((await figures()).current.requests).toBe(0);
  await page.goto(`${world.gateway.url}/requests?from=now-1h`);
  await expect(page.getByRole("row")).toHaveCount(0);
  await page.goto(`${world.gateway.url}/settings/audit`);
  await expect(page.getByText("created sample traffic")).toBeVisible();
});

test("stopping a run keeps the created requests", async ({ page }) => {
  await page.goto(`${world.gateway.url}/quickstart`);
  await page.getByRole("button", { name: "Create sample traffic" }).click();
  const banner = page.getByRole("status").filter({ hasText: "Creating sample traffic" });
  await expect(banner).toContainText(/: [1-9]\d* of \d+/, { timeout: 20_000 });
  await banner.getByRole("button", { name: "Stop" }).click();
  await expect(page.getByText(/^Stopped after [\d,]+ sample requests?\.$/)).toBeVisible();
  // Sample traffic can be created again immediately.
  await expect(page.getByRole("button", { name: "Create sample traffic" })).toBeEnabled();
  await page.getByRole("button", { name: "Create sample traffic" }).click();
  await expect(banner).toContainText(/: [1-9]\d* of \d+/, { timeout: 20_000 });
  await banner.getByRole("button", { name: "Stop" }).click();
  await expect(banner).toHaveCount(0);
});
