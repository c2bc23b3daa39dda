import { expect, expectAccessible, test, useWorld } from "../support/fixtures";

const world = useWorld();

test("a banner shows that no provider is usable, until one is", async ({ page }) => {
  const { client } = world;
  await page.goto(`${world.gateway.url}/requests`);
  const banner = page.getByRole("status").filter({ hasText: "No usable provider" });
  await expect(page.getByRole("heading", { level: 1, name: "Requests" })).toBeVisible();
  await expect(banner).toHaveCount(0);

  await client.call("PATCH", "/providers/simulator", { enabled: false });
  await page.reload();
  await expect(banner).toBeVisible();
  await expectAccessible(page);
  await banner.getByRole("link", { name: "Providers" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Providers" })).toBeVisible();
  await expect(banner).toBeVisible(); // on every page

  await client.call("PATCH", "/providers/simulator", { enabled: true });
  await page.reload();
  await expect(page.getByRole("heading", { level: 1, name: "Providers" })).toBeVisible();
  await expect(banner).toHaveCount(0);
});

test("a banner shows that storage is nearly full and links to Data", async ({ page }) => {
  // The response is mocked: a test cannot fill the disk.
  const item = { kind: "storage_low", severity: "warning", object: "disk", label: "Disk", message: "Only 1.5 GiB are left." };
  await page.route("**/api/v1/attention*", (route) => route.fulfill({ json: { attention: [item], config_file: null } }));
  await page.goto(`${world.gateway.url}/routing/models`);
  const banner = page.getByRole("status").filter({ hasText: "Storage is nearly full" });
  await expect(banner).toContainText("Only 1.5 GiB are left.");
  await expectAccessible(page);
  await banner.getByRole("link", { name: "Data" }).click();
  await expect(page.getByRole("region", { name: "Storage" }).getByText("Forecast", { exact: true })).toBeVisible();
  await expect(page.getByText("Not available yet. The forecast needs at least one day of data.")).toBeVisible();
});
