import type { Page } from "@playwright/test";

import { chat, type Client, eventually } from "../support/client";
import { expect, test, useWorld } from "../support/fixtures";

const world = useWorld();

function row(page: Page, name: string) {
  return page.getByRole("row", { name: new RegExp(name) });
}

async function act(page: Page, name: string, action: string) {
  await page.getByRole("button", { name: `Actions for ${name}` }).click();
  await page.getByRole("menuitem", { name: action }).click();
}

async function storedSecret(page: Page): Promise<string> {
  const secret = await page.getByRole("textbox", { name: "API key" }).inputValue();
  expect(secret).toMatch(/^fl_[0-9A-Za-z]{30,}$/);
  await page.getByRole("button", { name: "I have stored the key" }).click();
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page.locator("body")).not.toBeFocused();
  return secret;
}

async function status(client: Client, key: string): Promise<number> {
  return (await client.send({ key, body: chat("sim-nano") })).status;
}

test("a key is shown once, stays open after Escape and a click outside, and is hidden after a reload", async ({ page }) => {
  await page.goto(`${world.gateway.url}/settings/keys`);
  await page.getByRole("button", { name: "Create key" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Name" }).fill("checkout");
  await dialog.getByRole("button", { name: "Create key" }).click();

  const secret = await page.getByRole("textbox", { name: "API key" }).inputValue();
  await page.keyboard.press("Escape");
  await page.mouse.click(5, 400);
  await expect(page.getByRole("textbox", { name: "API key" })).toHaveValue(secret);
  await expect(page.getByRole("dialog").locator("pre")).toContainText(secret);
  await storedSecret(page);

  await page.reload();
  await expect(row(page, "checkout")).toBeVisible();
  await expect(row(page, "checkout")).toContainText(`…${secret.slice(-4)}`);
  await expect(page.getByRole("button", { name: "Actions for checkout" })).toBeInViewport({ ratio: 1 });
  expect(await page.content()).not.toContain(secret);
});

test("a new key can be tested in its dialog", async ({ page }) => {
  await page.goto(`${world.gateway.url}/settings/keys?create=1`);
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Name" }).fill("trial");
  await dialog.getByRole("button", { name: "Create key" }).click();
  await dialog.getByRole("button", { name: "Send test request" }).click();
  await expect(dialog.getByText("Test request succeeded")).toBeVisible();
  await storedSecret(page);
});

test("a rotated key's old secret works during the grace period, a revoked key is rejected immediately", async ({ page }) => {
  const { client } = world;
  const old = await client.key("worker");
  await page.goto(`${world.gateway.url}/settings/keys`);
  await act(page, "worker", "Rotate");
  await page.getByRole("radio", { name: "After 1 hour", exact: true }).check();
  await page.getByRole("button", { name: "Rotate", exact: true }).click();
  const rotated = await storedSecret(page);

  expect(rotated).not.toBe(old);
  await expect(row(page, "worker")).toContainText(`…${rotated.slice(-4)}`);
  await expect(row(page, "worker")).toContainText(new RegExp(`…${old.slice(-4)} expires in (59 minutes|1 hour)`));
  expect([await status(client, old), await status(client, rotated)]).toEqual([200, 200]);

  await act(page, "worker", "Rotate");
  await page.getByRole("radio", { name: "Immediately" }).check();
  await page.getByRole("button", { name: "Rotate", exact: true }).click();
  const last = await storedSecret(page);
  expect([await status(client, rotated), await status(client, last)]).toEqual([401, 200]);

  await eventually("the use is recorded", async () => {
    const { keys } = await client.call<{ keys: { name: string; last_used_at: string | null }[] }>("GET", "/keys");
    return keys.some((key) => key.name === "worker" && key.last_used_at !== null);
  });
  await page.reload();
  await expect(row(page, "worker")).toContainText(/just now|seconds? ago/);
  await act(page, "worker", "Revoke");
  const revoke = page.getByRole("dialog").getByRole("button", { name: "Revoke" });
  await expect(revoke).toBeDisabled(); // used recently, so its name must be typed
  await page.getByRole("textbox", { name: "Type worker to confirm" }).fill("worker");
  await revoke.click();
  await expect(page.getByText("Revoked “worker”.")).toBeVisible();
  await expect(row(page, "worker")).toHaveCount(0);
  await expect(page.getByRole("main")).toBeFocused(); // the button that opened the dialog was removed with its row

  const rejected = await client.send({ key: last, body: chat("sim-nano") });
  expect(rejected.status).toBe(401);
  const error = JSON.parse(rejected.text) as { error: string; code: string; details: Record<string, unknown> };
  expect(error).toMatchObject({ code: "REVOKED_API_KEY", details: { origin: "client", retryable: false } });
  expect(error.error).toMatch(/revoked/);
  expect(error.error).toMatch(/API keys|API key settings|settings\/keys/);

  await page.getByText("Revoked", { exact: true }).click();
  await expect(row(page, "worker")).toContainText("revoked");
});

test("an exhausted budget rejects inference only, and raising it applies to the next request", async ({ page }) => {
  const { client } = world;
  const key = await client.key("batch", { budget: { amount_usd: "0.000001", period: "month" } });
  const rejected = await client.send({ key, body: chat("sim-flagship") });
  expect(rejected.status).toBe(402);
  expect(JSON.parse(rejected.text)).toMatchObject({
    code: "BUDGET_EXCEEDED",
    details: { origin: "gateway", retryable: false, budget_usd: "0.000001" },
  });
  await client.logged(rejected.id);

  await page.goto(`${world.gateway.url}/requests/${rejected.id}`);
  await expect(page.getByText(/^Rejected by a budget after /)).toBeVisible();
  await page.goto(`${world.gateway.url}/settings/keys`);
  await act(page, "batch", "Edit");
  await page.getByRole("button", { name: /Limits and budget/ }).click();
  await page.getByRole("textbox", { name: "Budget (USD)" }).fill("5");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Saved “batch”.")).toBeVisible();

  expect(await status(client, key)).toBe(200);
  await expect(row(page, "batch")).toContainText("of $5.00");
});
