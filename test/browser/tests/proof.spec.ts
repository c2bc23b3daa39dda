import { chat, eventually } from "../support/client";
import { expect, expectAccessible, test, useWorld } from "../support/fixtures";

const world = useWorld();

interface Record {
  request_id: string;
  difference: number | null;
}

test.beforeAll(async () => {
  const { client } = world;
  await client.call("PUT", "/workspace/comparison", {
    settings: { share: 1, baseline: "sim-flagship", budget_usd: "5", judge: "sim-large" },
  });
  await client.call("POST", "/workspace/comparison/judge");
  const key = await client.key("compared");
  const sent: string[] = [];
  for (let i = 0; i < 8; i++) {
    sent.push((await client.send({ key, body: chat("auto:cost", `Describe harbour number ${i} in one sentence.`) })).id);
  }
  await client.logged(...sent);
  await eventually("the comparisons of all requests", async () => {
    const { records } = await client.call<{ records: Record[] }>("GET", "/workspace/comparison/records?limit=50");
    return records.filter(({ difference }) => difference !== null).length === sent.length;
  });
});

test("examples show both responses side by side", async ({ page }, info) => {
  await page.goto(`${world.gateway.url}/proof`);
  await page.getByRole("button", { name: "Show responses" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Responses side by side" });
  await expect(dialog.getByRole("region", { name: /\(routed\)$/ })).toBeVisible();
  await expect(dialog.getByRole("region", { name: "sim-flagship (baseline)" }).locator("mark").first()).toBeVisible();
  await expect(dialog.getByText(/Difference [+−]\d/)).toBeVisible();
  await expectAccessible(page);
  await page.screenshot({ path: info.outputPath("examples.png"), fullPage: true });
  await dialog.getByRole("link", { name: "Open the request" }).click();
  await expect(page).toHaveURL(/\/requests\/req_/);
});
