import type { Page } from "@playwright/test";

import { chat, Client, owner } from "../support/client";
import { Gateway } from "../support/gateway";
import { expect, test } from "../support/fixtures";
import { Upstream } from "../support/upstream";

// Hostile input for every stored text. If any of it runs, it sets window.injected or loads a URL.
const markup = `<img src="http://evil.test/x.png" onerror="window.injected=1"><script>window.injected=1</script>`;
const codes = "\u001b[31mred\u001b[0m \u202egnirts desrever\u202c \u200b";
const long = "W".repeat(3000);
const text = `${markup} ${codes} [click](javascript:window.injected=1) ![pixel](http://evil.test/y.png) {{7*7}}`;
const label = `<b onmouseover=window.injected=1>label</b>`;

let gateway: Gateway;
let upstream: Upstream;
let client: Client;
let good = "";
let failed = "";

test.beforeAll(async () => {
  upstream = await Upstream.start({ answer: text });
  gateway = await Gateway.start({
    config: `
allow_unpriced: true
providers:
  - name: alpha
    base_url: ${upstream.baseUrl}
    models:
      - { name: plain, input_per_mtok: 1, output_per_mtok: 2, context: 128000 }
`,
  });
  client = new Client(gateway.url);
  await client.register({ ...owner, name: label, workspace: `${label} workspace`, setup_code: await gateway.setupCode() });
  await client.call("PATCH", "/workspace", { name: `${label} workspace` });
  const key = await client.key(`${label} key`, { tags: { team: label } });
  const headers = { "X-Fairlead-Tags": `from=${label}`, "X-Fairlead-Session": label, "User-Agent": `${label}/1` };
  const more = { metadata: { note: text.slice(0, 400) }, user: label };
  good = (await client.send({ key, headers, body: chat("plain", `${text} ${long}`, more) })).id;
  await client.send({ key, headers, body: chat(`${label}model`, text, more) });
  upstream.behaviour = { fail: { status: 500, message: `${text} broke` } };
  failed = (await client.send({ key, headers, body: chat("plain", text, { ...more, stream: true }) })).id;
  await client.logged(good, failed);
});

test.afterAll(async () => {
  await gateway?.stop();
  await upstream?.kill();
});

test.beforeEach(async ({ context }) => client.enter(context));

/** Checks that no script ran, no element was created from input, and the page does not scroll sideways. */
async function expectHarmless(page: Page): Promise<void> {
  const state = await page.evaluate(() => ({
    ran: (window as unknown as { injected?: number }).injected,
    made: document.querySelectorAll('[onerror], [onmouseover], img[src*="evil"], a[href^="javascript"]').length,
    wider: document.documentElement.scrollWidth > document.documentElement.clientWidth,
  }));
  expect(state).toEqual({ ran: undefined, made: 0, wider: false });
}

test("the list shows hostile input as text in every column", async ({ page }) => {
  await page.goto(`${gateway.url}/requests?from=now-1h`);
  await expect(page.getByRole("row").filter({ hasText: "<img src=" }).first()).toBeVisible();
  await page.getByRole("button", { name: "Columns" }).click();
  for (const box of await page.getByRole("dialog").getByRole("checkbox").all()) {
    await box.setChecked(true);
  }
  await page.keyboard.press("Escape");
  for (const shown of [`team=${label}`, `${label} key`, `${label}/1`]) {
    await expect(page.getByText(shown, { exact: false }).first()).toBeVisible();
  }
  await expectHarmless(page);
});

test("the detail shows the conversation, the metadata and the provider's error as text", async ({ page }) => {
  await page.goto(`${gateway.url}/requests/${good}`);
  await expect(page.getByText("<script>window.injected=1</script>").first()).toBeVisible();
  await expect(page.getByText(/invisible characters marked/)).toBeVisible();
  await expectHarmless(page);
  await page.getByText("Plain text").click();
  await expectHarmless(page);
  await page.getByRole("tab", { name: "Details" }).click();
  await expect(page.getByRole("table", { name: "Metadata" })).toContainText(label);
  await page.getByRole("tab", { name: "Raw" }).click();
  await expect(page.locator("pre")).toBeVisible();
  await expectHarmless(page);
  await page.getByText("Log entry").click();
  await expect(page.locator("pre")).toContainText("overhead_us");
  await expectHarmless(page);

  await page.goto(`${gateway.url}/requests/compare?a=${good}&b=${failed}`);
  await expect(page.getByRole("heading", { name: "Responses" })).toBeVisible();
  await expectHarmless(page);
  await page.goto(`${gateway.url}/requests/${failed}?tab=attempts`);
  await expect(page.getByRole("tabpanel", { name: "Attempts" })).toContainText("<script>window.injected=1</script>");
  await expectHarmless(page);
});

for (const { path, shown } of [
  { path: "/", shown: "Overview" },
  { path: "/settings/keys", shown: `${label} key` },
  { path: "/settings/audit", shown: label },
  { path: "/settings/members", shown: label },
  { path: "/settings/account", shown: `${label} workspace` },
  { path: "/routing/models", shown: "plain" },
  { path: "/providers", shown: "alpha" },
]) {
  test(`${path} shows hostile names as text`, async ({ page }) => {
    await page.goto(gateway.url + path);
    await expect(page.getByRole("button", { name: `Workspace ${label} workspace` })).toBeVisible();
    await expect(page.getByText(shown).or(page.locator(`input[value*="workspace"]`)).first()).toBeVisible();
    await expectHarmless(page);
  });
}
