import { expect, expectAccessible, test, useWorld } from "../support/fixtures";

// These tests run on wide and narrow screens, in light and dark mode.
const world = useWorld();

const pages = [
  { path: "/docs", title: "Fairlead documentation" },
  { path: "/docs/guides/agents", title: "Connect a coding agent" },
  { path: "/docs/errors", title: "Error codes" },
  { path: "/docs/routing", title: "How auto routes" },
  { path: "/docs/reference/configuration", title: "Configuration reference" },
  { path: "/docs/search?q=budget", title: "Search" },
  { path: "/docs/no-such-page", title: "Page not found" },
];

test("the pages of the documentation are accessible and do not scroll sideways", async ({ page, watch }) => {
  watch.allow(/404.*\/docs\/no-such-page/);
  test.setTimeout(180_000);
  for (const { path, title } of pages) {
    await test.step(title, async () => {
      await page.goto(world.gateway.url + path);
      await expect(page.getByRole("heading", { level: 1, name: title })).toBeVisible();
      await expectAccessible(page);
      const sideways = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(sideways, `${path} scrolls sideways`).toBe(0);
    });
  }
});

test.describe("without scripts", () => {
  test.use({ javaScriptEnabled: false });

  test("Claude Code is two clicks away, and the search works", async ({ page }) => {
    await page.goto(`${world.gateway.url}/docs`);
    await page.getByRole("main").getByRole("link", { name: "Claude Code, Codex and other agents" }).click();
    await page.getByRole("main").getByRole("link", { name: "Claude Code", exact: true }).first().click();
    await expect(page.getByRole("heading", { name: "Claude Code" })).toBeInViewport();
    await page.getByRole("searchbox").fill("BUDGET_EXCEEDED");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("link", { name: "BUDGET_EXCEEDED" }).first().click();
    await expect(page).toHaveURL(/\/docs\/errors#BUDGET_EXCEEDED$/);
    await expect(page.getByRole("heading", { name: "BUDGET_EXCEEDED" })).toBeInViewport();
  });
});

test("the link in an error opens the section of its code", async ({ page, request }) => {
  const response = await request.post(`${world.gateway.url}/proxy/v1/chat/completions`, { data: {} });
  const { details } = (await response.json()) as { details: { doc_url: string } };
  await page.goto(details.doc_url);
  await expect(page.getByRole("heading", { name: "MISSING_API_KEY" })).toBeInViewport();
});
