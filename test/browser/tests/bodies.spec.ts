import type { Page } from "@playwright/test";

import { chat, Client } from "../support/client";
import { expect, prepare, test, useWorld } from "../support/fixtures";

const world = useWorld({ config: "log: { body_limit: 2KiB }\nsimulator: on\n" });

async function open(page: Page, id: string): Promise<void> {
  await world.client.logged(id);
  await page.goto(`${world.gateway.url}/requests/${id}`);
  await expect(page.getByRole("heading", { name: "Messages" })).toBeVisible();
}

const short = chat("sim-nano", "A private matter.", { max_tokens: 8 });

test("stored texts are loaded only when they are asked for", async ({ page }) => {
  const { client } = world;
  const { id } = await client.send({ key: await client.key("stored"), body: short });
  const bodies: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/body")) {
      bodies.push(request.url());
    }
  });
  await open(page, id);
  await expect(page.getByRole("button", { name: "Show the texts" })).toBeVisible();
  expect(bodies).toEqual([]);
  await page.getByRole("button", { name: "Show the texts" }).click();
  await expect(page.getByText("A private matter.")).toBeVisible();
  await page.getByText("JSON", { exact: true }).click();
  await expect(page.locator("pre").filter({ hasText: '"content": "A private matter."' })).toBeVisible();
});

test("storing is off for the workspace", async ({ page }) => {
  const { client } = world;
  await client.call("PATCH", "/workspace", { log_bodies: false });
  const { id } = await client.send({ key: await client.key("workspace off"), body: short });
  await client.call("PATCH", "/workspace", { log_bodies: true });
  await open(page, id);
  await expect(page.getByText("Storing texts is off for this workspace.")).toBeVisible();
  await page.getByRole("region", { name: "Messages" }).getByRole("link", { name: "Data" }).click();
  await expect(page.getByRole("switch", { name: "Store the texts of requests and answers" })).toBeChecked();
});

test("storing is off for the key", async ({ page }) => {
  const { client } = world;
  const { id } = await client.send({ key: await client.key("key off", { log_bodies: false }), body: short });
  await open(page, id);
  await expect(page.getByText("Storing texts is off for the key that sent this request.")).toBeVisible();
});

test("the request refused to be stored", async ({ page }) => {
  const { client } = world;
  const { id } = await client.send({ key: await client.key("refusing"), body: short, headers: { "X-Fairlead-Log-Body": "false" } });
  await open(page, id);
  await expect(page.getByText("The request asked not to be stored (x-fairlead-log-body: false).")).toBeVisible();
});

test("the texts were too large", async ({ page }) => {
  const { client } = world;
  const { id } = await client.send({ key: await client.key("large"), body: chat("sim-nano", "long ".repeat(1000), { max_tokens: 8 }) });
  await open(page, id);
  await expect(page.getByText("The texts were larger than what is stored.")).toBeVisible();
});

test("there never was a text, because the request failed before", async ({ page }) => {
  const { client } = world;
  const { id } = await client.send({ key: await client.key("broken"), body: "{" });
  await open(page, id);
  await expect(page.getByText("The request failed before there was a text to store.")).toBeVisible();
});

test("a viewer may not read texts", async ({ browser, watch }) => {
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
  await expect(page.getByText("You may not read texts")).toBeVisible();
  await expect(page.getByText("A private matter.")).toHaveCount(0);
  await page.goto(`${gateway.url}/requests?from=now-1h`);
  await expect(page.getByRole("table", { name: "Requests" })).toBeVisible();
  await expect(page.getByText("A private matter.")).toHaveCount(0);
  await context.close();
});
