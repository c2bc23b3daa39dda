import { expect, test, useWorld } from "../support/fixtures";

const world = useWorld();

test("a tab that was open during an upgrade loads the next page", async ({ page, watch }) => {
  watch.allow(/assets\//);
  await page.goto(`${world.gateway.url}/quickstart`);
  await expect(page.getByRole("heading", { name: "Quickstart" })).toBeVisible();
  // The gateway was upgraded, so the script files of the open page are missing until the page is reloaded.
  const steps: string[] = [];
  await page.route("**/*", async (route) => {
    const request = route.request();
    if (request.isNavigationRequest()) {
      steps.push("reload");
    } else if (request.url().endsWith("/health")) {
      steps.push("health");
    }
    const gone = !steps.includes("reload") && request.url().includes("/assets/");
    await (gone ? route.fulfill({ status: 404, body: "" }) : route.continue());
  });
  await page.getByRole("link", { name: "Providers" }).first().click();
  await expect(page.getByRole("heading", { name: "Providers" })).toBeVisible();
  expect(steps).toEqual(["health", "reload"]); // the page is reloaded once, and only while the gateway responds
});

test("a page whose files stay missing offers a reload and does not loop", async ({ page, watch }) => {
  watch.allow(/assets\//);
  await page.goto(`${world.gateway.url}/quickstart`);
  await expect(page.getByRole("heading", { name: "Quickstart" })).toBeVisible();
  let documents = 0;
  page.on("request", (request) => (documents += request.isNavigationRequest() ? 1 : 0));
  await page.route("**/assets/Providers*", (route) => route.fulfill({ status: 404, body: "" }));
  await page.getByRole("link", { name: "Providers" }).first().click();
  await expect(page.getByRole("alert").getByRole("button", { name: "Reload" })).toBeVisible();
  expect(documents).toBeLessThanOrEqual(2);
});

test("a new version of the gateway is announced", async ({ page }) => {
  let version: string | undefined;
  await page.route("**/api/v1/session", async (route) => {
    const response = await route.fetch();
    const session = (await response.json()) as { server: { version: string } };
    session.server.version = version ?? session.server.version;
    await route.fulfill({ response, json: session });
  });
  await page.goto(`${world.gateway.url}/quickstart`);
  await expect(page.getByRole("heading", { name: "Quickstart" })).toBeVisible();
  await expect(page.getByText("A new version is available.")).toHaveCount(0);
  version = "99.0.0";
  await page.reload();
  await expect(page.getByText("A new version is available.")).toBeVisible();
  version = undefined;
  await page.getByRole("button", { name: "Reload" }).click();
  await expect(page.getByRole("heading", { name: "Quickstart" })).toBeVisible();
  await expect(page.getByText("A new version is available.")).toHaveCount(0);
});
