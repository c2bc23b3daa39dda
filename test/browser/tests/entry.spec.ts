import { Client, owner } from "../support/client";
import { Gateway } from "../support/gateway";
import { expect, expectAccessible, test } from "../support/fixtures";

test.describe.configure({ mode: "serial" }); // the first test registers

let gateway: Gateway;

test.beforeAll(async () => {
  gateway = await Gateway.start({ config: "registration: open\n" });
});

test.afterAll(async () => {
  await gateway?.stop();
});

test("an empty gateway shows registration on every path, later sign-in returns to the requested page", async ({ page, context }) => {
  for (const path of ["/", "/requests?preset=errors", "/sign-in"]) {
    await page.goto(gateway.url + path);
    await expect(page.getByRole("heading", { name: "Create the owner account" })).toBeVisible();
  }
  await expectAccessible(page);
  await expect(page.getByRole("textbox", { name: "Setup code" })).toHaveValue("");
  await page.goto("about:blank"); // changing only the fragment does not reload the page
  await page.goto(`${gateway.url}/welcome#${await gateway.setupCode()}`); // the link that the gateway prints
  await page.getByRole("textbox", { name: "Name" }).fill(owner.name);
  await page.getByRole("textbox", { name: "Email" }).fill(owner.email);
  await page.getByLabel(/^Password/).fill(owner.password);
  await page.getByRole("button", { name: "Create account" }).click();
  await expect(page.getByRole("heading", { name: "Quickstart" })).toBeVisible();

  await page.goto("about:blank"); // an open page would keep polling without its session
  await context.clearCookies();
  await page.goto(`${gateway.url}/settings/keys?state=all`);
  await expect(page.getByText("Sign in to continue to the requested page.")).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("textbox", { name: "Email" }).fill(owner.email);
  await page.getByLabel(/^Password/).fill(owner.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { name: "API keys" })).toBeVisible();
  await expect(page).toHaveURL(`${gateway.url}/settings/keys?state=all`);
});

test("a wrong password shows one line without an id", async ({ page, watch }) => {
  watch.allow(/\b401\b/);
  await page.goto(gateway.url);
  await page.getByRole("textbox", { name: "Email" }).fill(owner.email);
  await page.getByLabel(/^Password/).fill("not the password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).toHaveText("Wrong email or password.");
});

test("unknown paths are not found: a page within the dashboard, JSON outside", async ({ page, request, watch }) => {
  watch.allow(/\b404\b/);
  for (const path of ["/api/v1/nothing", "/proxy/v1/nothing", "/nothing"]) {
    const response = await request.get(gateway.url + path);
    expect([response.status(), response.headers()["content-type"]]).toEqual([404, expect.stringContaining("json")]);
  }
  for (const path of ["/settings/nothing", "/nothing"]) {
    await page.goto(gateway.url + path);
    await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  }
  const client = new Client(gateway.url);
  await client.call("POST", "/session", { email: owner.email, password: owner.password });
  await client.enter(page.context());
  await page.goto(`${gateway.url}/nothing`);
  await expect(page.getByText("Page not found")).toBeVisible();
  await expect(page.getByRole("navigation", { name: "Pages" })).toBeVisible();
});

test("an account that signs in does not see cached data of another account", async ({ page, watch }) => {
  watch.allow(/\b401\b/);
  const ada = new Client(gateway.url);
  await ada.call("POST", "/session", { email: owner.email, password: owner.password });
  await ada.key("of ada alone");
  const bob = { name: "Bob", email: "bob@example.com", password: "correct horse battery", workspace: "Bobs" };
  await new Client(gateway.url).register(bob);
  const signIn = async (email: string, password: string) => {
    await page.getByRole("textbox", { name: "Email" }).fill(email);
    await page.getByLabel(/^Password/).fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
  };
  await page.goto(`${gateway.url}/settings/keys`);
  await signIn(owner.email, owner.password);
  await expect(page.getByText("of ada alone")).toBeVisible();
  await page.evaluate(() => fetch("/api/v1/session", { method: "DELETE" }));
  await page.getByRole("link", { name: "Models" }).first().click(); // calls the gateway
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();

  // The request for the key list never completes, so a key on the page could only come from the cache.
  await page.route("**/api/v1/keys*", () => undefined);
  await signIn(bob.email, bob.password);
  await page.getByRole("link", { name: "API keys" }).first().click();
  await expect(page.getByRole("heading", { level: 1, name: "API keys" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Workspace Bobs" })).toBeVisible();
  await expect(page.getByText("of ada alone")).toHaveCount(0);
});
