import { chat } from "../support/client";
import { expect, expectAccessible, test, useWorld } from "../support/fixtures";

const world = useWorld();

test.beforeAll(async () => {
  const { client } = world;
  const key = await client.key("reports");
  const sent: string[] = [];
  for (const [team, model] of [
    ["search", "sim-small"],
    ["search", "sim-flagship"],
    ["billing", "sim-small"],
  ]) {
    const headers = { "X-Fairlead-Tags": `team=${team}` };
    sent.push((await client.send({ key, headers, body: chat(model ?? "", "Which rivers are longest?") })).id);
  }
  await client.logged(...sent);
});

test("groups by tag and model, and opens the requests", async ({ page }, info) => {
  await page.goto(`${world.gateway.url}/report?by=tag:team&then=model&measure=requests&from=now-1h`);
  const table = page.getByRole("table", { name: "Report" });
  await expect(table.getByRole("row", { name: /^search 2/ })).toBeVisible();
  await expect(table.getByRole("row", { name: /^sim-flagship 1/ })).toBeVisible();
  await expect(table.getByRole("row", { name: /^Total 3/ })).toBeVisible();
  await expect(page.getByRole("img", { name: "search: 2" })).toBeVisible();
  const chart = page.getByRole("img", { name: "Requests over time by tag “team”" });
  await expect(chart.locator("[data-running] rect").or(chart.locator("rect[stroke]")).first()).toBeVisible();
  await page.getByRole("button", { name: "View as table: Requests over time" }).click();
  const bins = page.getByRole("region", { name: "Requests over time, table" }).getByRole("table");
  await expect(bins.getByRole("columnheader")).toHaveText(["Time", "search", "billing", "Total"]);
  await page.getByRole("button", { name: "View as chart: Requests over time" }).click();
  await expect(chart).toBeVisible();
  await page.mouse.move(0, 0);
  await expectAccessible(page);
  await page.screenshot({ path: info.outputPath("report.png"), fullPage: true });

  const href = await page.getByRole("link", { name: "Export CSV" }).getAttribute("href");
  const csv = await page.request.get(world.gateway.url + href);
  expect(await csv.text()).toContain("group,search,search,sim-small,sim-small,1,");

  await table.getByRole("link", { name: "sim-flagship" }).click();
  await expect(page).toHaveURL(/\/requests\?.*model=sim-flagship/);
  await expect(page.getByText("Which rivers are longest?")).toHaveCount(1);
});

test("a dimension is chosen with the keyboard", async ({ page }) => {
  await page.goto(`${world.gateway.url}/report?from=now-1h`);
  await page.getByRole("combobox", { name: "Group by" }).or(page.getByRole("textbox", { name: "Group by" })).first().click();
  await page.getByRole("option", { name: "Client" }).click();
  await expect(page).toHaveURL(/by=client/);
  await expect(page.getByRole("columnheader", { name: "Client" })).toBeVisible();
});

test("a day has hours on the time axis, and the hour that is not over is dashed", async ({ page }) => {
  const key = await world.client.key("clock");
  await world.client.logged((await world.client.send({ key, body: chat("sim-small", "What time is it?") })).id);
  await page.goto(`${world.gateway.url}/report?from=now-24h&measure=requests`);
  const chart = page.getByRole("img", { name: "Requests over time by model" });
  await expect(chart.getByText(/^\d\d:00$/).first()).toBeVisible();
  const running = chart.locator("g[data-running] rect").first();
  await expect(running).toBeVisible();
  expect(await running.evaluate((bar) => getComputedStyle(bar).strokeDasharray)).not.toBe("none");
  await running.hover();
  await expect(page.getByText("(so far)")).toBeVisible();
  await running.click();
  await expect(page).toHaveURL(/\/requests\?.*from=20/);
  await expect(page.getByText("What time is it?")).toBeVisible();
});

test("a client opens its requests", async ({ page }) => {
  const { client } = world;
  const key = await client.key("agents");
  const agent = "harbour-agent/1.0 (KHTML, like \\x)"; // a comma and a backslash
  const sent = await client.send({ key, headers: { "User-Agent": agent }, body: chat("sim-nano", "Sent by an agent") });
  await client.logged(sent.id);
  await page.goto(`${world.gateway.url}/report?by=client&measure=requests&from=now-1h`);
  await page.getByRole("table", { name: "Report" }).getByRole("link", { name: agent }).click();
  await expect(page.getByText("1 matching request", { exact: true })).toBeVisible();
  await expect(page.getByText("Sent by an agent")).toHaveCount(1);
  await expect(page.getByText(`client: ${agent}`)).toBeVisible();
});
