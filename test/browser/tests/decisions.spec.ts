import { chat } from "../support/client";
import { expect, test, useWorld } from "../support/fixtures";

const world = useWorld();

test("an expected route is shown in the list and in the detail", async ({ page }) => {
  const { client } = world;
  const { id } = await client.send({ key: await client.key("expected"), body: chat("auto", "Name three rivers.") });
  await client.logged(id);

  await page.goto(`${world.gateway.url}/requests?from=now-1h`);
  const row = page.getByRole("row").filter({ hasText: "Name three rivers." });
  await expect(row).not.toContainText(/fallback|policy|error/); // badges mark unusual requests only
  await row.click();
  const detail = page.getByRole("dialog");
  await expect(detail.getByText("Served by")).toContainText("expected route");
  await detail.getByRole("tab", { name: "Why" }).click();
  await expect(detail.getByRole("region", { name: "Candidates" }).getByRole("row").nth(1)).toContainText("Chosen, served");
  await expect(page).toHaveURL(new RegExp(`id=${id}`));
});

test("a fallback names the failed and the serving attempt", async ({ page }) => {
  const { client } = world;
  const body = chat("sim-small", "Name three lakes.", { models: ["sim-medium"], metadata: { simulate: "500@sim-small" } });
  const { id, status } = await client.send({ key: await client.key("fallback"), body });
  expect(status).toBe(200);
  await client.logged(id);

  await page.goto(`${world.gateway.url}/requests?decision=fallback&from=now-1h`);
  await expect(page.getByRole("row").filter({ hasText: "Name three lakes." })).toContainText("fallback");
  await page.goto(`${world.gateway.url}/requests/${id}?tab=attempts`);
  await expect(page.getByText("Served by")).toContainText(/fallback: simulator\/sim-small .*500/);
  const attempts = page.getByRole("tabpanel", { name: "Attempts" });
  await expect(attempts).toContainText("1. sim-small on simulator");
  await expect(attempts).toContainText("status 500");
  await expect(attempts).toContainText("2. sim-medium on simulator");
  await page.getByRole("tab", { name: "Why" }).click();
  const candidates = page.getByRole("region", { name: "Candidates" });
  await expect(candidates.getByRole("row", { name: /sim-small/ })).toContainText("Chosen, failed");
  await expect(candidates.getByRole("row", { name: /sim-medium/ })).toContainText("Served as fallback");
});

test("excluded candidates are listed with their reasons", async ({ page }) => {
  const { client } = world;
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
  const body = { model: "auto", messages: [{ role: "user", content: [{ type: "text", text: "What is this?" }, image] }] };
  const key = await client.key("excluded", { allowed_models: ["sim-vision", "sim-nano"] });
  const { id } = await client.send({ key, body });
  await client.logged(id);

  await page.goto(`${world.gateway.url}/requests/${id}?tab=why`);
  const candidates = page.getByRole("region", { name: "Candidates" });
  await expect(candidates.getByRole("row", { name: /sim-vision/ })).toContainText("Chosen");
  await expect(candidates.getByRole("row", { name: /sim-nano/ })).toContainText(/excluded: .*(vision|image)/i);
  await expect(candidates.getByRole("row", { name: /sim-flagship/ })).toContainText(/excluded: .*key/i);
});

test("a rejected request has no decision and shows who rejected it and why", async ({ page }) => {
  const { client } = world;
  const key = await client.key("restricted", { allowed_models: ["sim-nano"] });
  const { id, status } = await client.send({ key, body: chat("sim-flagship") });
  expect(status).toBe(403);
  await client.logged(id);

  await page.goto(`${world.gateway.url}/requests/${id}?tab=attempts`);
  await expect(page.getByText(/^Rejected by /)).toContainText("sim-flagship");
  await expect(page.getByRole("tabpanel", { name: "Attempts" })).toContainText("No provider was called.");
});

test("a request that failed at every provider shows each attempt", async ({ page }) => {
  const { client } = world;
  const body = chat("sim-small", "Fail.", { metadata: { simulate: "500" } });
  const { id, status } = await client.send({ key: await client.key("failing"), body });
  expect(status).toBe(502);
  await client.logged(id);

  await page.goto(`${world.gateway.url}/requests?preset=errors&from=now-1h`);
  await expect(page.getByRole("row").filter({ hasText: "Fail." })).toContainText("upstream error");
  await page.goto(`${world.gateway.url}/requests/${id}?tab=attempts`);
  await expect(page.getByText(/^Failed after .* and \d+ attempts?/)).toBeVisible();
  await expect(page.getByRole("tabpanel", { name: "Attempts" })).toContainText(/SIMULATED: .*error/);
});
