import { owner } from "../support/client";
import { expect, expectAccessible, test } from "../support/fixtures";
import { firstRun, pointer } from "../support/firstrun";
import { Gateway } from "../support/gateway";
import { Upstream } from "../support/upstream";

test.describe.configure({ mode: "serial" }); // the later tests use the provider of the first one

let gateway: Gateway;
let upstream: Upstream;
const key = "sk-mock-0123456789f3Qa";

test.beforeAll(async () => {
  upstream = await Upstream.start();
  upstream.models = ["gpt-4.1", "gpt-4.1-mini", "gpt-5-nano", "house-model"];
  upstream.key = key;
  gateway = await Gateway.start({ config: "allow_private_upstreams: [127.0.0.0/8]\n" });
});

// eslint-disable-next-line no-empty-pattern -- required by Playwright
test.afterEach(({}, info) => {
  if (info.status !== info.expectedStatus) {
    console.log(gateway.log());
  }
});

test.afterAll(async () => {
  await gateway?.stop();
  await upstream?.kill();
});

test("a new user connects a provider and reads the first request without a restart", async ({
  page,
  watch,
}) => {
  test.setTimeout(60_000);
  await firstRun(page, watch, gateway, upstream, pointer);
});

test("a connected provider is masked, rotated, changed and removed", async ({ page, watch, context }) => {
  watch.allow(/400.*\/api\/v1\/providers/); // the gateway rejects another host without a new key
  await signIn(page, context);
  await page.goto(`${gateway.url}/providers`);
  const card = page.getByRole("article", { name: "OpenAI" });
  await expect(card).toContainText("…f3Qa");
  await expect(card).not.toContainText(key);
  await card.getByRole("button", { name: "Rotate credential …f3Qa" }).click();
  const rotation = page.getByRole("dialog", { name: /Rotate credential/ });
  upstream.key = "sk-next-0123456789wxyz";
  await rotation.getByLabel("OpenAI API key").fill(upstream.key);
  await rotation.getByRole("button", { name: "Rotate" }).click();
  await expect(card).toContainText("…wxyz");
  await card.getByRole("button", { name: "Test OpenAI" }).click();
  await expect(card.getByText("Test passed")).toBeVisible();

  await card.getByRole("button", { name: "Actions for OpenAI" }).click();
  await page.getByRole("menuitem", { name: "Change base URL" }).click();
  const change = page.getByRole("dialog", { name: "Change OpenAI" });
  await change.getByRole("textbox", { name: "Base URL" }).fill("https://api.openai.com/v1");
  await change.getByRole("button", { name: "Save" }).click();
  await expect(change).toContainText("Enter a key for the new address");
  await change.getByRole("button", { name: "Cancel" }).click();

  await card.getByRole("button", { name: "Actions for OpenAI" }).click();
  await page.getByRole("menuitem", { name: "Remove provider" }).click();
  await page.getByRole("dialog", { name: "Remove OpenAI" }).getByRole("button", { name: "Remove" }).click();
  await expect(card).toHaveCount(0);
  await expect(page.getByRole("article", { name: "Simulator" })).toBeVisible();
  await page.goto(`${gateway.url}/settings/audit`);
  for (const words of ["connected a provider", "rotated a credential", "removed a provider"]) {
    await expect(page.getByText(words).first()).toBeVisible();
  }
});

test("a custom endpoint is connected at 390 px and its models are discovered", async ({ page, context }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await signIn(page, context);
  await page.goto(`${gateway.url}/providers`);
  await page.getByRole("button", { name: "Connect provider" }).click();
  const dialog = page.getByRole("dialog", { name: "Connect provider" });
  await dialog.getByRole("button", { name: "Custom endpoint" }).click();
  await dialog.getByRole("textbox", { name: "Name" }).fill("house");
  await dialog.getByRole("textbox", { name: "Base URL" }).fill(upstream.baseUrl);
  await dialog.getByLabel("API key").fill(upstream.key ?? "");
  await dialog.getByRole("checkbox", { name: "Models on this server are free" }).check();
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Test and connect" }).click();
  await expect(dialog.getByRole("status")).toContainText("Found 4 models, all with a price.");
  await expect(dialog.getByRole("row", { name: /house-model/ })).toContainText("free");
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await dialog.getByRole("button", { name: "Done" }).click();
  await expect(page.getByRole("article", { name: "house" })).toContainText("4 models");
  await expectAccessible(page);
});

async function signIn(
  page: import("@playwright/test").Page,
  context: import("@playwright/test").BrowserContext,
): Promise<void> {
  await context.clearCookies();
  await page.goto(gateway.url);
  await page.getByRole("textbox", { name: "Email" }).fill(owner.email);
  await page.getByLabel(/^Password/).fill(owner.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Overview" })).toBeVisible();
}
