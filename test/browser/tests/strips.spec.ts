import { expect, expectAccessible, test, useWorld } from "../support/fixtures";

const world = useWorld();

test("a strip says that no provider can be used, until one can", async ({ page }) => {
  const { client } = world;
  await page.goto(`${world.gateway.url}/requests`);
  const strip = page.getByRole("status").filter({ hasText: "No provider can be used" });
  await expect(page.getByRole("heading", { level: 1, name: "Requests" })).toBeVisible();
  await expect(strip).toHaveCount(0);

  await client.call("PATCH", "/providers/simulator", { enabled: false });
  await page.reload();
  await expect(strip).toBeVisible();
  await expectAccessible(page);
  await strip.getByRole("link", { name: "Providers" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Providers" })).toBeVisible();
  await expect(strip).toBeVisible(); // on every page

  await client.call("PATCH", "/providers/simulator", { enabled: true });
  await page.reload();
  await expect(page.getByRole("heading", { level: 1, name: "Providers" })).toBeVisible();
  await expect(strip).toHaveCount(0);
});

test("a strip says that storage is nearly full, and leads to the data", async ({ page }) => {
  // No test fills a disk: the rule for the fact has tests of its own.
  const fact = { kind: "storage_low", severity: "warning", object: "disk", label: "Disk", message: "Only 1.5 GiB are left." };
  await page.route("**/api/v1/attention*", (route) => route.fulfill({ json: { attention: [fact], config_file: null } }));
  await page.goto(`${world.gateway.url}/routing/models`);
  const strip = page.getByRole("status").filter({ hasText: "Storage is nearly full" });
  await expect(strip).toContainText("Only 1.5 GiB are left.");
  await expectAccessible(page);
  await strip.getByRole("link", { name: "Data" }).click();
  await expect(page.getByRole("region", { name: "Storage" }).getByText("Forecast")).toBeVisible();
  await expect(page.getByText("Not known yet: growth has to be measured for a day first.")).toBeVisible();
});
