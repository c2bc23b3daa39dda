import type { Page } from "@playwright/test";

import { chat, Client } from "../support/client";
import { expect, prepare, test, useWorld } from "../support/fixtures";

const world = useWorld({ config: "log: { body_limit: 2KiB }\nsimulator: on\n" });

async function open(page: Page, id: string): Promise<void> {
  await world.client.logged(id);
  await page.goto(`${world.gateway.url}/requests/${id}`);
  await expect(page.getByRole("tabpanel", { name: "Conversation" })).toBeVisible();
}

/** The reasons shown so far: each state must have its own. */
const reasons = new Set<string>();

/** Checks that the page shows the reason for a missing body, and that no other state has the same reason. */
async function expectAbsent(page: Page, id: string, state: string): Promise<void> {
  const body = await world.client.call<{ state: string; reason: string }>("GET", `/requests/${id}/body`);
  expect(body.state).toBe(state);
  await expect(page.getByRole("tabpanel", { name: "Conversation" }).getByText(body.reason, { exact: true })).toBeVisible();
  expect(reasons).not.toContain(body.reason);
  reasons.add(body.reason);
}

const short = chat("sim-nano", "A private matter.", { max_tokens: 8 });

test("stored messages are shown first, and are not loaded for other tabs", async ({ page }) => {
  const { client } = world;
  const { id } = await client.send({ key: await client.key("stored"), body: short });
  const bodies: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/body")) {
      bodies.push(request.url());
    }
  });
  await client.logged(id);
  await page.goto(`${world.gateway.url}/requests/${id}?tab=cost`);
  await expect(page.getByRole("tabpanel", { name: "Cost" })).toContainText("Total");
  expect(bodies).toEqual([]);
  await open(page, id);
  await expect(page.getByText("A private matter.")).toBeVisible();
  expect(bodies).toHaveLength(1);
  await page.getByRole("tab", { name: "Raw" }).click();
  await expect(page.locator("pre").filter({ hasText: '"content": "A private matter."' })).toBeVisible();
});

test("body logging is off for the workspace", async ({ page }) => {
  const { client } = world;
  await client.call("PATCH", "/workspace", { log_bodies: false });
  const { id } = await client.send({ key: await client.key("workspace off"), body: short });
  await client.call("PATCH", "/workspace", { log_bodies: true });
  await open(page, id);
  await expectAbsent(page, id, "disabled");
  await page.getByRole("tabpanel", { name: "Conversation" }).getByRole("link", { name: "Data" }).click();
  await expect(page.getByRole("switch", { name: "Store prompts and responses" })).toBeChecked();
});

test("body logging is off for the key", async ({ page }) => {
  const { client } = world;
  const { id } = await client.send({ key: await client.key("key off", { log_bodies: false }), body: short });
  await open(page, id);
  await expectAbsent(page, id, "disabled_for_key");
});

test("body logging was disabled by the request", async ({ page }) => {
  const { client } = world;
  const { id } = await client.send({ key: await client.key("opted out"), body: short, headers: { "X-Fairlead-Log-Body": "false" } });
  await open(page, id);
  await expectAbsent(page, id, "disabled_by_request");
});

test("the body was too large to store", async ({ page }) => {
  const { client } = world;
  const { id } = await client.send({ key: await client.key("large"), body: chat("sim-nano", "long ".repeat(1000), { max_tokens: 8 }) });
  await open(page, id);
  await expectAbsent(page, id, "too_large");
});

test("an invalid request has no body", async ({ page }) => {
  const { client } = world;
  const { id } = await client.send({ key: await client.key("broken"), body: "{" });
  await open(page, id);
  await expectAbsent(page, id, "none");
});

test("a viewer cannot view messages", async ({ browser, watch }) => {
  const { client, gateway } = world;
  const { id } = await client.send({ key: await client.key("seen by viewers"), body: short });
  await client.logged(id);
  const { token } = await client.call<{ token: string }>("POST", "/workspace/invitations", { role: "viewer" });
  const viewer = new Client(gateway.url);
  await viewer.register({ name: "Vi", email: "vi@example.com", password: "looking only, thanks", invitation: token });

  const context = await browser.newContext();
  await prepare(context, watch);
  await viewer.enter(context);
  const page = await context.newPage();
  await page.goto(`${gateway.url}/requests/${id}`);
  await expect(page.getByText("You do not have permission to view messages")).toBeVisible();
  await expect(page.getByText("A private matter.")).toHaveCount(0);
  await page.goto(`${gateway.url}/requests?from=now-1h`);
  await expect(page.getByRole("table", { name: "Requests" })).toBeVisible();
  await expect(page.getByText("A private matter.")).toHaveCount(0);
  await context.close();
});
