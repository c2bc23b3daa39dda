import { readFile } from "node:fs/promises";

import type { Page } from "@playwright/test";

import { chat } from "../support/client";
import { expect, prepare, test, useWorld } from "../support/fixtures";

const world = useWorld();
let wanted: string[] = []; // newest first

test.beforeAll(async () => {
  const { client } = world;
  const key = await client.key("filtered");
  const send = (text: string, tag: string, model = "sim-nano") =>
    client.send({ key, body: chat(model, text, { max_tokens: 8 }), headers: { "X-Fairlead-Tags": `team=${tag}` } });
  const all: string[] = [];
  for (const [text, tag] of [
    ["first", "search"],
    ["second", "billing"],
    ["third", "search"],
    ["fourth", "search"],
  ] as const) {
    const { id } = await send(text, tag);
    all.push(id);
  }
  all.push((await send("fifth", "search", "sim-small")).id);
  await client.logged(...all);
  wanted = [all[3], all[2], all[0]].map((id) => id ?? "");
});

/** The prompts of the rows, in order. */
async function previews(page: Page): Promise<string[]> {
  const rows = page.getByRole("table", { name: "Requests" }).getByRole("row");
  return (await rows.allInnerTexts()).slice(1).map((text) => /first|second|third|fourth|fifth/.exec(text)?.[0] ?? text);
}

const expected = ["fourth", "third", "first"];

test("a filtered list is the same in another session, in the export and on the command line", async ({ page, browser, watch }) => {
  await page.goto(`${world.gateway.url}/requests?from=now-1h`);
  await expect(page.getByText("5 matching requests")).toBeVisible();
  await page.getByRole("button", { name: "model", exact: true }).click();
  await page.getByRole("checkbox", { name: /sim-nano/ }).check();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "More filters" }).click();
  await page.getByRole("textbox", { name: "tag" }).fill("team=search");
  await page.keyboard.press("Enter");
  await expect(page.getByText("3 matching requests")).toBeVisible();
  expect(await previews(page)).toEqual(expected);
  await expect(page).toHaveURL(/model=sim-nano/);
  await expect(page).toHaveURL(/tag=team(=|%3D)search/);

  const other = await browser.newContext();
  await prepare(other, watch);
  await world.client.enter(other);
  const copy = await other.newPage();
  await copy.goto(page.url());
  await expect(copy.getByText("3 matching requests")).toBeVisible();
  expect(await previews(copy)).toEqual(expected);
  await other.close();

  await page.getByRole("button", { name: "Export" }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("menuitem", { name: /^JSON Lines/ }).click();
  const lines = (await readFile(await (await download).path(), "utf8")).trim().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(wanted);

  const listed = await world.gateway.command("requests", "list", "--from=now-1h", "--model=sim-nano", "--tag=team=search", "--json");
  const ids = listed.trim().split("\n").map((line) => (JSON.parse(line) as { id: string }).id);
  expect(ids).toEqual(wanted);
});

test("previous and next stay within the filter", async ({ page }) => {
  await page.goto(`${world.gateway.url}/requests?from=now-1h&model=sim-nano&tag=team=search`);
  await page.getByRole("row").filter({ hasText: "fourth" }).click();
  const next = page.getByRole("button", { name: "Next request" });
  for (const id of wanted.slice(1)) {
    await next.click();
    await expect(page).toHaveURL(new RegExp(`id=${id}`));
  }
  await expect(next).toBeDisabled();
  await page.keyboard.press("[");
  await expect(page).toHaveURL(new RegExp(`id=${wanted[1]}`));
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
});

test("an export neutralises spreadsheet formulas", async ({ page }) => {
  const { client } = world;
  const key = await client.key("formula");
  const { id } = await client.send({ key, body: chat("sim-nano", "=HYPERLINK(\"http://example.com\")", { max_tokens: 8 }) });
  await client.logged(id);
  await page.goto(`${world.gateway.url}/requests?from=now-1h`);
  await page.getByRole("button", { name: "Export" }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("menuitem", { name: /^CSV/ }).click();
  const text = await readFile(await (await download).path(), "utf8");
  expect(text).toContain("HYPERLINK");
  expect(text).not.toMatch(/(^|,)"?=HYPERLINK/m);
});

test("a filter that matches nothing offers to clear it", async ({ page }) => {
  await page.goto(`${world.gateway.url}/requests?from=now-1h&model=nothing`);
  await expect(page.getByText("No results")).toBeVisible();
  await page.getByRole("button", { name: "Clear filters" }).last().click();
  await expect(page.getByRole("row").filter({ hasText: "first" })).toBeVisible();
});

test("an invalid time in the URL is reported, and the default range is shown", async ({ page }) => {
  for (const path of ["/requests", "/"]) {
    await page.goto(`${world.gateway.url}${path}?from=yesterday`);
    await expect(page.getByText("Invalid time in the URL: “yesterday”")).toBeVisible();
    await expect(page.getByRole("button", { name: "Last 24 hours" })).toBeVisible();
  }
});

test("requests are filtered by their client", async ({ page }) => {
  const { client } = world;
  const key = await client.key("software");
  const { id } = await client.send({ key, headers: { "User-Agent": "night-job/3" }, body: chat("sim-nano", "From a night job") });
  await client.logged(id);
  await page.goto(`${world.gateway.url}/requests?from=now-1h`);
  await expect(page.getByText("From a night job")).toBeVisible();
  await expect(page.getByText("fifth")).toBeVisible();
  await page.getByRole("button", { name: "More filters" }).click();
  await page.getByRole("textbox", { name: "client" }).fill("night-job/3");
  await page.keyboard.press("Enter");
  await expect(page.getByText("1 matching request", { exact: true })).toBeVisible();
  await expect(page).toHaveURL(/client=night-job/);
  await expect(page.getByText("fifth")).toHaveCount(0);
});
