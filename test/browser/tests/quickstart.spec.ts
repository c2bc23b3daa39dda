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

test("a new gateway serves the pasted snippet in under a minute", async ({
  page,
  watch,
}) => {
  watch.allowRecent();
  test.setTimeout(60_000);
  await page.goto(gateway.url);
  await page.getByRole("link", { name: "Quickstart" }).first().click();
  await expect(
    page.getByRole("region", { name: "Simulator ready" }).getByRole("status"),
  ).toHaveText("Done");
  const request = page.getByRole("region", { name: "First request received" });
  await expect(
    request.getByText("Waiting for the first request…"),
  ).toBeVisible();

  await page.getByRole("button", { name: "Create key" }).click();
  await expect(
    page.getByRole("region", { name: "Key created" }).getByRole("status"),
  ).toHaveText("Done");
  const snippet = await request
    .getByRole("tabpanel")
    .locator("pre")
    .innerText();
  const { stdout } = await promisify(execFile)("bash", ["-c", snippet]);

  expect(JSON.parse(stdout)).toMatchObject({ object: "chat.completion" });
  await expect(request.getByRole("status").first()).toHaveText("Done", {
    timeout: 2000,
  });
  await request.getByRole("link", { name: "View request" }).click();
  await expect(page.getByText("Served by")).toContainText("SIMULATED");
  await expect(page.getByText("expected route")).toBeVisible();
});

test("every language has a snippet with the base URL", async ({ page }) => {
  await page.goto(`${gateway.url}/quickstart`);
  const panel = page.getByRole("region", { name: "First request received" });
  const tabs = panel.getByRole("tab");
  await expect(tabs).toHaveText([
    "curl",
    "Python",
    "Node",
    "Go",
    "Environment variables",
  ]);
  for (const tab of await tabs.all()) {
    await tab.click();
    await expect(panel.getByRole("tabpanel")).toContainText(
      `${gateway.url}/proxy/v1`,
    );
  }
});

test("the command for a coding agent is shown for this gateway", async ({
  page,
}) => {
  await page.goto(`${gateway.url}/quickstart`);
  const panel = page.getByRole("region", { name: "First request received" });
  await expect(
    panel.getByText(`fairlead connect claude-code --server ${gateway.url}`),
  ).toBeVisible();
  await panel.getByLabel("Connect an agent").selectOption("Codex");
  await expect(
    panel.getByText(`fairlead connect codex --server ${gateway.url}`),
  ).toBeVisible();
});
