import { owner } from "../support/client";
import { Gateway } from "../support/gateway";
import { expect, expectAccessible, test } from "../support/fixtures";

test.describe.configure({ mode: "serial" }); // the first test registers

let gateway: Gateway;

test.beforeAll(async () => {
  gateway = await Gateway.start();
});

test.afterAll(async () => {
  await gateway?.stop();
});

test("an empty gateway registers the first account on every address, then asks to sign in and leads back", async ({ page, context }) => {
  for (const path of ["/", "/requests?preset=errors", "/sign-in"]) {
    await page.goto(gateway.url + path);
    await expect(page.getByRole("heading", { name: "Create the first account" })).toBeVisible();
  }
  await expectAccessible(page);
  await page.getByRole("textbox", { name: "Name" }).fill(owner.name);
  await page.getByRole("textbox", { name: "Email" }).fill(owner.email);
  await page.getByLabel(/^Password/).fill(owner.password);
  await page.getByRole("button", { name: "Create account" }).click();
  await expect(page.getByRole("heading", { name: "Quickstart" })).toBeVisible();

  await page.goto("about:blank"); // an open page would go on asking, without its session
  await context.clearCookies();
  await page.goto(`${gateway.url}/settings/keys?state=all`);
  await expect(page.getByText("Sign in to go on to the page you asked for.")).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("textbox", { name: "Email" }).fill(owner.email);
  await page.getByLabel(/^Password/).fill(owner.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { name: "API keys" })).toBeVisible();
  await expect(page).toHaveURL(`${gateway.url}/settings/keys?state=all`);
});

test("a wrong password says so and nothing else", async ({ page, watch }) => {
  watch.allow(/\b401\b/);
  await page.goto(gateway.url);
  await page.getByRole("textbox", { name: "Email" }).fill(owner.email);
  await page.getByLabel(/^Password/).fill("not the password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).toContainText("You are not signed in");
});

test("unknown addresses are not found: a page within the dashboard, JSON outside", async ({ page, request, watch }) => {
  watch.allow(/\b404\b/);
  for (const path of ["/api/v1/nothing", "/proxy/v1/nothing", "/nothing"]) {
    const answer = await request.get(gateway.url + path);
    expect([answer.status(), answer.headers()["content-type"]]).toEqual([404, expect.stringContaining("json")]);
  }
  await page.goto(`${gateway.url}/settings/nothing`);
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
});
