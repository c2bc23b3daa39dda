import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { Client, owner } from "../support/client";
import { expect, expectAccessible, test } from "../support/fixtures";
import { Gateway } from "../support/gateway";

let gateway: Gateway;
let endpoint: Server;
let client: Client;
const received: {
  path: string;
  headers: IncomingMessage["headers"];
  body: { type: string };
}[] = [];

test.beforeAll(async () => {
  endpoint = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      received.push({
        path: request.url ?? "",
        headers: request.headers,
        body: JSON.parse(text) as { type: string },
      });
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => endpoint.listen(0, "127.0.0.1", resolve));
  gateway = await Gateway.start({
    config: "allow_private_upstreams: [127.0.0.0/8]\n",
  });
  client = await new Client(gateway.url).register({
    ...owner,
    setup_code: await gateway.setupCode(),
  });
});

test.afterAll(async () => {
  await gateway?.stop();
  endpoint?.close();
});

test("a rule with a webhook is added, tested and muted", async ({ page, context, watch }) => {
  watch.allow(/400.*\/api\/v1\/alerts\/channels/); // the gateway rejects a private address
  await client.enter(context);
  await page.goto(`${gateway.url}/alerts`);
  await expect(page.getByRole("heading", { level: 1, name: "Alerts" })).toBeVisible();
  await expect(page.getByText("No alert rules yet")).toBeVisible();

  await page.getByRole("button", { name: "Add channel" }).click();
  const adding = page.getByRole("dialog", { name: "Add channel" });
  await adding.getByRole("textbox", { name: "Channel name" }).fill("ops");
  await adding.getByRole("textbox", { name: "URL" }).fill("https://10.0.0.1/hook");
  await adding.getByRole("button", { name: "Add channel" }).click();
  await expect(adding).toContainText("10.0.0.1 cannot be used");
  await expectAccessible(page);
  const { port } = endpoint.address() as AddressInfo;
  await adding.getByRole("textbox", { name: "URL" }).fill(`http://127.0.0.1:${port}/hook`);
  await adding.getByRole("button", { name: "Add channel" }).click();
  const secret = page.getByRole("dialog", { name: "Signing key for “ops”" });
  await expect(secret.getByRole("textbox", { name: "Signing key" })).toHaveValue(/^whsec_/);
  await page.keyboard.press("Escape");
  await secret.getByRole("button", { name: "I have stored the key" }).click();

  await page.getByRole("button", { name: "Add rule" }).click();
  const rule = page.getByRole("dialog", { name: "Add alert rule" });
  await rule.getByRole("combobox", { name: "Metric" }).click();
  await page.getByRole("option", { name: "Key expiry" }).click();
  await rule.getByRole("combobox", { name: "Notify" }).click();
  await page.getByRole("option", { name: "ops" }).click();
  await page.keyboard.press("Tab");
  await expectAccessible(page);
  await rule.getByRole("button", { name: "Add rule" }).click();
  await expect(rule).toBeHidden();
  await expect(page.getByRole("table", { name: "Alert rules" }).getByRole("row", { name: /Key expiry/ })).toContainText("< 7 days");

  await page.getByRole("button", { name: "Send test to ops" }).click();
  const history = page.getByRole("table", { name: "Alert history" });
  await expect(history.getByRole("row", { name: /Test of ops/ })).toContainText("delivered");
  const message = received.find((one) => one.path === "/hook");
  expect(message?.body.type).toBe("alert.test");
  expect(message?.headers["webhook-signature"]).toMatch(/^v1,/);

  await page.getByRole("button", { name: "Actions for Key expiry" }).click();
  await page.getByRole("menuitem", { name: "1 hour" }).click();
  await expect(page.getByRole("row", { name: /Key expiry/ })).toContainText("muted");
  await expectAccessible(page);
  await page.screenshot({
    path: test.info().outputPath("alerts.png"),
    fullPage: true,
  });

  await page.setViewportSize({ width: 390, height: 844 });
  await expect(page.getByText("Test of ops")).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await page.screenshot({
    path: test.info().outputPath("alerts-phone.png"),
    fullPage: true,
  });
});

test("a firing alert comes first on the overview and recovers", async ({ page, context }) => {
  await client.enter(context);
  const { port } = endpoint.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/firing`;
  const channel = await client.call<{ id: string }>("POST", "/alerts/channels", { name: "on-call", type: "webhook", url });
  const expires = new Date(Date.now() + 2 * 24 * 3_600_000).toISOString();
  await client.newKey("soon", { expires_at: expires });
  const body = { kind: "key_expiry", name: "Expiring keys", channels: [channel.id] };
  const rule = await client.call<{ id: string }>("POST", "/alerts/rules", body);
  const types = () =>
    received
      .filter((one) => one.path === "/firing")
      .map((one) => one.body.type)
      .join(" ");
  await expect.poll(types).toBe("alert.firing");
  await page.goto(gateway.url);
  const attention = page.getByRole("region", { name: "Needs attention" });
  await expect(attention.getByRole("listitem").first()).toContainText("Key expiry of soon: 2 days, below the threshold of 7 days.");
  await expectAccessible(page);
  await page.screenshot({ path: test.info().outputPath("overview.png"), fullPage: true });
  await client.call("PATCH", `/alerts/rules/${rule.id}`, { threshold: 1 });
  await expect.poll(types).toBe("alert.firing alert.recovered");
  await page.goto(`${gateway.url}/alerts`);
  const history = page.getByRole("table", { name: "Alert history" });
  await expect(history.getByRole("row", { name: /recovered.*Expiring keys/ })).toContainText("delivered");
});
