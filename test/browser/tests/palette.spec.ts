import { chat } from "../support/client";
import { expect, expectAccessible, test, useWorld } from "../support/fixtures";

const world = useWorld();
let found = "";

test.beforeAll(async () => {
  const { client } = world;
  const key = await client.key("palette-key");
  const prompt = "Why was the zeppelin late? <img src=x onerror=alert(1)> \u202egnirts";
  found = (await client.send({ key, body: chat("sim-nano", prompt, { max_tokens: 8 }) })).id;
  await client.logged(found);
});

test("the palette finds objects and documentation by keyboard", async ({ page }) => {
  await page.goto(`${world.gateway.url}/requests`);
  await expect(page.getByRole("heading", { level: 1, name: "Requests" })).toBeVisible();
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox", { name: /^Search pages/ });
  await expect(field).toBeFocused();
  await expect(page.getByRole("option", { name: "Overview" })).toBeVisible();
  await field.fill("palette-key");
  const key = page.getByRole("group", { name: "API keys" }).getByRole("option");
  await expect(key).toContainText("palette-key");
  await expect(page.getByRole("status").filter({ hasText: /result/ })).toBeAttached();
  await expectAccessible(page);
  await field.fill("quickstart");
  await expect(page.getByRole("option", { name: /Search the documentation for/ })).toBeVisible();
  await field.fill("xylophone quartz");
  await expect(page.getByRole("option")).toHaveCount(2); // searches of the requests and of the documentation
  await field.fill("palette-key");
  await expect(key).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/requests\?.*key=key_/);
});

test("stored text is searched from the palette on a phone", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${world.gateway.url}/requests`);
  await expect(page.getByRole("heading", { level: 1, name: "Requests" })).toBeVisible();
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox", { name: /^Search pages/ });
  await field.fill("zeppelin");
  await page.getByRole("option", { name: /List all requests with/ }).click();
  await expect(page).toHaveURL(/text=zeppelin/);
  await expect(page.getByRole("link", { name: /Why was the zeppelin late/ })).toHaveCount(1);
  await page.keyboard.press("Control+k");
  await field.fill(found);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/requests/${found}`));
});
