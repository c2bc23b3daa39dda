import { createHmac } from "node:crypto";

import { Client, eventually, owner } from "../support/client";
import { ann, Dex } from "../support/dex";
import { expect, expectAccessible, test } from "../support/fixtures";
import { Gateway } from "../support/gateway";

test.describe.configure({ mode: "serial" }); // the second test uses the account of the owner

let gateway: Gateway;
let dex: Dex;

test.beforeAll(async () => {
  test.setTimeout(600_000); // compiles Dex
  gateway = await Gateway.start({ config: "simulator: on\n" });
  await new Client(gateway.url).register({ ...owner, setup_code: await gateway.setupCode() });
  dex = await Dex.start(`${gateway.url}/api/v1/sso/callback`, "platform");
  await gateway.setConfig(`simulator: on\n${dex.config()}`);
  await eventually("single sign-on is offered", async () => {
    const session = (await (await fetch(`${gateway.url}/api/v1/session`)).json()) as { server: { sso?: unknown } };
    return session.server.sso !== undefined;
  });
});

test.afterAll(async () => {
  await dex?.stop();
  await gateway?.stop();
});

test("a user signs in with Dex and returns to the requested page", async ({ page }) => {
  await page.goto(`${gateway.url}/settings/keys?state=all`);
  await expect(page.getByRole("link", { name: "Sign in with Dex" })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("link", { name: "Sign in with Dex" }).click();
  await page.locator("input[name=login]").fill(ann.login);
  await page.locator("input[name=password]").fill(ann.password);
  await page.locator("button[type=submit]").click();
  await expect(page.getByRole("heading", { name: "API keys" })).toBeVisible();
  await expect(page).toHaveURL(`${gateway.url}/settings/keys?state=all`);
  await page.goto(`${gateway.url}/settings/account`);
  await expect(page.getByText(`${ann.email} · developer of`)).toBeVisible();
  await expect(page.getByText("which manages your second factor")).toBeVisible();
  await expect(page.getByRole("heading", { name: "Password" })).toHaveCount(0);
});

test("a rejected sign-in shows its reason and no text of the URL", async ({ page }) => {
  await page.goto(`${gateway.url}/sign-in?sso=no_group`);
  await expect(page.getByRole("alert")).toContainText("None of your groups has access to this gateway.");
  await page.goto(`${gateway.url}/sign-in?sso=Call+this+number`);
  await expect(page.getByRole("alert")).toContainText("The sign-in through the identity provider failed.");
  await expect(page.getByText("Call this number")).toHaveCount(0);
});

test("two-factor authentication is set up and then required", async ({ page, context, watch }) => {
  watch.allow(/\b401\b/);
  const enter = async () => {
    await page.goto(`${gateway.url}/settings/account`);
    await page.getByRole("textbox", { name: "Email" }).fill(owner.email);
    await page.getByLabel(/^Password/).fill(owner.password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
  };
  await enter();
  const section = page.locator("section", { has: page.getByRole("heading", { name: "Two-factor authentication" }) });
  await section.getByLabel(/^Your password/).fill(owner.password);
  await section.getByRole("button", { name: "Set up" }).click();
  await expect(page.getByRole("img", { name: "QR code for the secret" })).toBeVisible();
  await expectAccessible(page);
  const secret = ((await section.locator("code").textContent()) ?? "").replaceAll(" ", "");
  await section.getByRole("textbox", { name: "Code" }).fill(code(secret));
  await section.getByRole("button", { name: "Enable" }).click();
  await expect(section.getByText("Save these recovery codes")).toBeVisible();
  const recovery = ((await section.locator("pre").textContent()) ?? "").split("\n");
  expect(recovery).toHaveLength(10);
  await section.getByRole("button", { name: "I saved the codes" }).click();
  await expect(section.getByText("10 recovery codes left")).toBeVisible();

  await page.goto("about:blank");
  await context.clearCookies();
  await enter();
  await page.getByRole("textbox", { name: "Code" }).fill("000000");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await expect(page.getByRole("alert")).toHaveText("Wrong code, or the code was already used.");
  await expectAccessible(page);
  await page.getByRole("textbox", { name: "Code" }).fill(recovery[0] ?? "");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await expect(section.getByText("9 recovery codes left")).toBeVisible();
});

/** The current code of a secret, as an authenticator app computes it (RFC 6238). */
function code(secret: string): string {
  const bits = [...secret].map((c) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)));
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const sum = createHmac("sha1", key).update(step).digest();
  const offset = (sum[19] ?? 0) & 15;
  return ((sum.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).toString().padStart(6, "0");
}
