import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { Gateway } from "../support/gateway";
import { expect, test } from "../support/fixtures";

let gateway: Gateway;

test.beforeAll(async () => {
  gateway = await Gateway.start({ args: ["--dev"] });
});

test.afterAll(async () => {
  await gateway?.stop();
});

test("an empty machine answers the pasted snippet in under a minute", async ({ page, watch }) => {
  watch.allowFresh();
  test.setTimeout(60_000);
  await page.goto(gateway.url);
  await page.getByRole("link", { name: "Quickstart" }).first().click();
  await expect(page.getByRole("region", { name: "A provider" }).getByRole("status")).toHaveText("done");
  const request = page.getByRole("region", { name: "The first request" });
  await expect(request.getByText("Listening for the first request…")).toBeVisible();

  await page.getByRole("button", { name: "Create a key" }).click();
  await expect(page.getByRole("region", { name: "An API key" }).getByRole("status")).toHaveText("done");
  const snippet = await request.getByRole("tabpanel").locator("pre").innerText();
  const answer = await promisify(execFile)("bash", ["-c", snippet]);

  expect(JSON.parse(answer.stdout)).toMatchObject({ object: "chat.completion" });
  await expect(request.getByRole("status").first()).toHaveText("done", { timeout: 2000 });
  await request.getByRole("link", { name: "See how it was routed" }).click();
  await expect(page.getByText("Served by")).toContainText("SIMULATED");
  await expect(page.getByText("expected route")).toBeVisible();
});

test("every language has a snippet with the address and the key's variable", async ({ page }) => {
  await page.goto(`${gateway.url}/quickstart`);
  const panel = page.getByRole("region", { name: "The first request" });
  const tabs = panel.getByRole("tab");
  await expect(tabs).toHaveText(["curl", "Python", "Node", "Go", "Environment only"]);
  for (const tab of await tabs.all()) {
    await tab.click();
    await expect(panel.getByRole("tabpanel")).toContainText(`${gateway.url}/proxy/v1`);
  }
});
