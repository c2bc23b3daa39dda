import type { Page } from "@playwright/test";

import { chat, owner } from "../support/client";
import { expect, test, useWorld } from "../support/fixtures";

const world = useWorld();

/** The gateway under a host name that is not a secure origin, where the clipboard API is missing. */
function insecureUrl(): string {
  return world.gateway.url.replace("127.0.0.1", "fairlead.test");
}

test.beforeEach(({ watch }) => {
  // The browser warns that it ignores a header that only applies to secure origins.
  watch.allow(/Cross-Origin-Opener-Policy header has been ignored/);
});

async function signIn(page: Page, path: string): Promise<void> {
  await page.goto(insecureUrl() + path);
  await page.getByRole("textbox", { name: "Email" }).fill(owner.email);
  await page.getByLabel(/^Password/).fill(owner.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("navigation", { name: "Pages" })).toBeVisible();
  expect(await page.evaluate(() => window.isSecureContext)).toBe(false);
}

/** Pastes the clipboard into the command palette and returns it. */
async function pasteClipboard(page: Page): Promise<string> {
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox", { name: /^Search pages/ });
  await field.click();
  await page.keyboard.press("Control+v");
  const text = await field.inputValue();
  await page.keyboard.press("Escape");
  return text;
}

test("on a plain http origin, signing in opens the requested page and its link can be copied", async ({ page }) => {
  const { client } = world;
  const { id } = await client.send({ key: await client.key("copied"), body: chat("sim-nano", "Hello", { max_tokens: 8 }) });
  await client.logged(id);
  await signIn(page, `/requests/${id}`);

  await page.getByRole("button", { name: "Copy link" }).click();
  await expect(page.getByRole("button", { name: "Copied", exact: true })).toBeVisible();
  expect(await pasteClipboard(page)).toBe(`${insecureUrl()}/requests/${id}`);
});

test("a new key can be copied out of its dialog", async ({ page }) => {
  await signIn(page, "/settings/keys?create=1");
  await page.getByRole("dialog").getByRole("textbox", { name: "Name" }).fill("plain");
  await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
  const secret = await page.getByRole("textbox", { name: "API key" }).inputValue();
  await page.getByRole("dialog").getByRole("button", { name: "Copy" }).first().click();
  await expect(page.getByRole("button", { name: "Copied", exact: true })).toBeVisible();
  await page.getByRole("button", { name: "I have stored the key" }).click();
  await expect(page.getByRole("dialog")).toHaveCount(0);
  expect(await pasteClipboard(page)).toBe(secret);
});

test("copied code reads the key from the environment and never contains a key", async ({ page }) => {
  const { client } = world;
  const { id } = await client.send({ key: await client.key("code"), body: chat("sim-nano", "Hello code", { max_tokens: 8 }) });
  await client.logged(id);
  await signIn(page, `/requests/${id}`);
  await page.getByRole("button", { name: "Copy as" }).click();
  await page.getByRole("menuitem", { name: "curl" }).click();
  await expect(page.getByText("Code copied.")).toBeVisible();
  const code = await pasteClipboard(page);
  expect(code).toContain("$FAIRLEAD_API_KEY");
  expect(code).toContain("Hello code");
  expect(code).not.toMatch(/fl_[0-9A-Za-z]{8}/);
});
