import { chat } from "../support/client";
import { expect, expectAccessible, test, useWorld } from "../support/fixtures";

const world = useWorld({ config: "simulator: on\n" });

const address = "ann.lee@example.com";

test("a rule is tested and saved, and redacts everything that is stored", async ({ page, watch }) => {
  watch.allow(/400/); // the gateway rejects the invalid pattern
  const { client, gateway } = world;
  await page.goto(`${gateway.url}/settings/data`);
  const section = page.getByRole("region", { name: "Redaction" });
  await section.getByRole("switch", { name: "Use the gateway’s default rules" }).click();
  await section.getByRole("switch", { name: /^email/ }).click();
  await section.getByRole("button", { name: "Add rule" }).click();
  await section.getByLabel("Name of rule 1").fill("ticket");
  await section.getByLabel("Pattern of rule 1").fill("T-(");
  await section.getByLabel("Test the rules").fill(`I am ${address}, about T-4711.`);
  await expect(section.getByText(/rule "ticket": .*pattern/)).toBeVisible();
  await section.getByRole("button", { name: "Save rules" }).click();
  await expect(section.getByText(/rule "ticket": .*pattern/).first()).toBeVisible();
  await section.getByLabel("Pattern of rule 1").fill("T-\\d+");
  const stored = section.getByRole("region", { name: "Stored text" });
  await expect(stored).toContainText("I am [redacted: email], about [redacted: ticket].");
  await expect(stored).toContainText("2 redactions: email 1, ticket 1.");
  await section.getByRole("button", { name: "Save rules" }).click();
  await expect(page.getByText("Redaction rules saved.")).toBeVisible();
  await page.reload();
  await expect(section.getByRole("switch", { name: /^email/ })).toBeChecked();
  await expect(section.getByLabel("Pattern of rule 1")).toHaveValue("T-\\d+");

  const key = await client.key("redacted");
  const body = chat("sim-nano", `I am ${address}, about T-4711.`, { max_tokens: 8, user: address, metadata: { from: address } });
  const { id } = await client.send({ key, body });
  await client.logged(id);

  await page.goto(`${gateway.url}/requests?from=now-1h`);
  const row = page.getByRole("row").filter({ hasText: "redacted: email" });
  await expect(row.locator("mark", { hasText: "[redacted: email]" })).toBeVisible();
  await page.goto(`${gateway.url}/requests/${id}`);
  const messages = page.getByRole("tabpanel", { name: "Conversation" });
  await expect(messages.locator("mark", { hasText: "[redacted: ticket]" })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("tab", { name: "Raw" }).click();
  await expect(page.locator("pre mark", { hasText: "[redacted: email]" }).first()).toBeVisible();
  await expect(page.getByText(address)).toHaveCount(0);
  await expect(page.getByText("T-4711")).toHaveCount(0);

  for (const path of [`/requests/${id}`, `/requests/${id}/body`, "/requests?from=now-1h", "/requests/export?from=now-1h&format=jsonl&columns=id,preview"]) {
    const text = await client.text(path);
    expect(text, path).toContain("[redacted: email]");
    expect(text, path).not.toContain(address);
    expect(text, path).not.toContain("T-4711");
  }
});

test("live rows are redacted", async ({ page, watch }) => {
  watch.allowRecent();
  const { client, gateway } = world;
  await client.call("PATCH", "/workspace", { redaction: { builtin: ["email"], custom: [] } });
  const key = await client.key("live");
  const { id } = await client.send({ key, body: chat("sim-nano", "the first", { max_tokens: 8 }) });
  await client.logged(id);
  await page.goto(`${gateway.url}/requests?from=now-1h&live=1`);
  await expect(page.getByRole("row").filter({ hasText: "the first" })).toBeVisible();
  await expect(page.getByText("Live updates on", { exact: true })).toBeVisible();
  await client.send({ key, body: chat("sim-nano", `live from ${address}`, { max_tokens: 8 }) });
  await expect(page.getByRole("row").filter({ hasText: "live from [redacted: email]" })).toBeVisible();
  await expect(page.getByText(address)).toHaveCount(0);
});
