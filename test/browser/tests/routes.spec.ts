import { chat } from "../support/client";
import { expect, expectAccessible, test, useWorld } from "../support/fixtures";

const world = useWorld();

test("a route is added, serves a request and is deleted", async ({ page }) => {
  const { client, gateway } = world;
  await page.goto(`${gateway.url}/routing/routes`);
  await expect(page.getByRole("heading", { level: 1, name: "Routes" })).toBeVisible();
  await expect(page.getByRole("region", { name: "auto", exact: true })).toContainText("Default pool");
  await expectAccessible(page);

  await page.getByRole("button", { name: "Add route" }).click();
  const dialog = page.getByRole("dialog", { name: "Add route" });
  await dialog.getByRole("textbox", { name: "Name" }).fill("support");
  await dialog.getByRole("combobox", { name: "Pool" }).fill("sim-nano");
  await page.getByRole("option", { name: "sim-nano", exact: true }).click();
  await page.keyboard.press("Escape");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Save" }).click();
  const support = page.getByRole("region", { name: "support", exact: true });
  await expect(support).toContainText("The pool is pinned");
  await expect(support).toContainText("sim-nano");
  await page.screenshot({ path: test.info().outputPath("routes.png"), fullPage: true });

  const key = await client.key("support");
  const answer = await client.send({ key, body: chat("Support:cost", "Where is my parcel?") });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("x-fairlead-model")).toBe("sim-nano");

  await support.getByRole("button", { name: "Delete support" }).click();
  await page.getByRole("dialog", { name: "Delete route “support”" }).getByRole("button", { name: "Delete" }).click();
  await expect(support).toHaveCount(0);
  expect((await client.send({ key, body: chat("support", "Where is my parcel?") })).status).toBe(404);
});
