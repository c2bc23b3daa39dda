import { type CDPSession, type Page } from "@playwright/test";

import { Client, owner } from "../support/client";
import { expect, expectAccessible, test } from "../support/fixtures";
import { Gateway } from "../support/gateway";

let gateway: Gateway;
let url: string; // passkeys need a host name

test.beforeAll(async () => {
  gateway = await Gateway.start();
  await new Client(gateway.url).register({ ...owner, setup_code: await gateway.setupCode() });
  url = gateway.url.replace("127.0.0.1", "localhost");
});

// eslint-disable-next-line no-empty-pattern -- required by Playwright
test.afterEach(({}, info) => {
  if (info.status !== info.expectedStatus) {
    console.log(gateway.log());
  }
});

test.afterAll(() => gateway?.stop());

/** Adds an authenticator to the browser that stores passkeys and verifies the user. */
async function authenticator(page: Page): Promise<{ cdp: CDPSession; id: string }> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("WebAuthn.enable");
  const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { cdp, id: authenticatorId };
}

async function enterPassword(page: Page): Promise<void> {
  await page.getByRole("textbox", { name: "Email" }).fill(owner.email);
  await page.getByLabel(/^Password/).fill(owner.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

test("a passkey is added, used without and after a password, and removed", async ({ page, context, watch }) => {
  watch.allow(/\b401\b/);
  watch.allow(/another origin: http:\/\/localhost:/);
  const { cdp, id } = await authenticator(page);
  await page.goto(`${url}/settings/account`);
  await expectAccessible(page);
  await enterPassword(page);
  const section = page.locator("section", { has: page.getByRole("heading", { name: "Passkeys" }) });
  await section.getByRole("button", { name: "Add passkey" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Name" }).fill("Laptop");
  await dialog.getByLabel(/^Your password/).fill("not the password");
  await dialog.getByRole("button", { name: "Continue" }).click();
  await expect(dialog.getByText("The password is incorrect.")).toBeVisible();
  await dialog.getByLabel(/^Your password/).fill(owner.password);
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Continue" }).click();
  await expect(dialog.getByText("Save these recovery codes")).toBeVisible();
  const codes = ((await dialog.locator("pre").textContent()) ?? "").split("\n");
  expect(codes).toHaveLength(10);
  await dialog.getByRole("button", { name: "I saved the codes" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(section.getByText("not used yet")).toBeVisible();
  await expect(page.getByText("Your passkeys are the second factor. 10 recovery codes left.")).toBeVisible();

  await section.getByRole("button", { name: "Rename Laptop" }).click();
  await dialog.getByRole("textbox", { name: "Name" }).fill("Work laptop");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(section.getByText("Work laptop")).toBeVisible();
  await expectAccessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);

  const leave = async () => {
    await page.goto("about:blank");
    await context.clearCookies();
    await page.goto(`${url}/settings/account`);
  };
  await leave();
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await expect(section.getByText("used", { exact: false }).last()).toBeVisible();
  await expect(section.getByText("not used yet")).toHaveCount(0);

  await leave();
  await cdp.send("WebAuthn.setUserVerified", { authenticatorId: id, isUserVerified: false });
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await expect(page.getByRole("alert")).toHaveText("No passkey was used. Try again.");
  await cdp.send("WebAuthn.setUserVerified", { authenticatorId: id, isUserVerified: true });
  await enterPassword(page);
  await expect(page.getByText("Use your passkey, or enter a recovery code.")).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Use a passkey" }).click();
  await section.getByRole("button", { name: "Remove Work laptop" }).click();
  await dialog.getByLabel(/^Your password/).fill(owner.password);
  await dialog.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(dialog).toHaveCount(0);
  await expect(section.getByText("Work laptop")).toHaveCount(0);

  await leave();
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await expect(page.getByRole("alert")).toHaveText("This passkey is not registered. Sign in another way.");
  await enterPassword(page);
  await expect(section.getByRole("button", { name: "Add passkey" })).toBeVisible();
});

test("passkeys are hidden with the reason at an address that does not allow them", async ({ page }) => {
  await page.goto(`${gateway.url}/settings/account`);
  await expect(page.getByRole("button", { name: "Sign in", exact: true })).toBeVisible();
  await expect(page.getByRole("button", { name: "Sign in with a passkey" })).toHaveCount(0);
  await enterPassword(page);
  await expect(page.getByText("Passkeys need the gateway’s address")).toBeVisible();
  await expect(page.getByRole("button", { name: "Add passkey" })).toHaveCount(0);
});
