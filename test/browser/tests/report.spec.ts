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

test("groups by tag and model, opens the requests, and saves a view", async ({ page }, info) => {
  await page.goto(`${world.gateway.url}/report?by=tag:team&then=model&measure=requests&from=now-1h`);
  const table = page.getByRole("table", { name: "Report" });
  await expect(table.getByRole("row", { name: /^search 2/ })).toBeVisible();
  await expect(table.getByRole("row", { name: /^sim-flagship 1/ })).toBeVisible();
  await expect(table.getByRole("row", { name: /^Total 3/ })).toBeVisible();
  await expect(page.getByRole("img", { name: "search: 2" })).toBeVisible();
  await expectAccessible(page);
  await page.screenshot({ path: info.outputPath("report.png"), fullPage: true });

  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("menuitem", { name: "Save view…" }).click();
  await page.getByRole("dialog").getByRole("textbox", { name: "Name" }).fill("Teams");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("button", { name: "Teams" })).toBeVisible();

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
