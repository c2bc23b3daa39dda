import { chat, eventually } from "../support/client";
import { expect, test, useWorld } from "../support/fixtures";
import { navigation } from "../support/pages";
import { Upstream } from "../support/upstream";

let upstream: Upstream;
const config = (title: string) => `
providers:
  - name: ${title}
    base_url: ${upstream.baseUrl}
    api_keys: [sk-from-the-file-1234]
    models:
      - { name: filed, input_per_mtok: 1, output_per_mtok: 2, context: 128000 }
`;
const world = useWorld(async () => {
  upstream = await Upstream.start();
  return { config: config("alpha") };
});

test.afterAll(async () => upstream?.kill());

test("every page works when the configuration comes from a file", async ({ page }) => {
  const { client } = world;
  await client.logged((await client.send({ key: await client.key("filed"), body: chat("filed") })).id);
  for (const { path, title } of navigation) {
    await page.goto(world.gateway.url + path);
    await expect(page.getByRole("heading", { level: 1, name: title })).toBeVisible();
    await expect(page.getByRole("alert")).toHaveCount(0);
  }
});

test("settings from the file are read-only, and the page names the file", async ({ page }) => {
  await page.goto(`${world.gateway.url}/providers`);
  const alpha = page.getByRole("article", { name: "alpha" });
  await expect(alpha.getByText("file", { exact: true }).first()).toBeVisible();
  await expect(alpha).toContainText("…1234");
  await expect(alpha).not.toContainText("sk-from-the-file");
  await expect(alpha.getByRole("button", { name: /Remove|Rotate|Actions/ })).toHaveCount(0);
  await expect(alpha.getByRole("img", { name: "Locked. Managed in the configuration file." })).toHaveCount(2);
  await expect(page.getByText("Some settings are managed in")).toHaveCount(0);
  await page.goto(`${world.gateway.url}/routing/policies`);
  await expect(page.getByRole("heading", { level: 1, name: "Policies" })).toBeVisible();
  await page.goto(`${world.gateway.url}/settings/data`);
  await expect(page.getByText(`Set for all workspaces in the gateway configuration (${world.gateway.config})`)).toBeVisible();
});

test("a changed file is reloaded without a restart, and an invalid one is ignored", async ({ page }) => {
  await page.goto(`${world.gateway.url}/providers`);
  await expect(page.getByRole("article", { name: "alpha" })).toBeVisible();
  await world.gateway.setConfig(config("omega"));
  await expect(page.getByRole("article", { name: "omega" })).toBeVisible();
  await world.gateway.setConfig("providers: nonsense\n");
  await eventually("the invalid file is rejected", async () => /"level":"ERROR".*configuration/.test(world.gateway.log()));
  await page.reload();
  await expect(page.getByRole("article", { name: "omega" })).toBeVisible();
  await world.gateway.setConfig(config("alpha"));
  await expect(page.getByRole("article", { name: "alpha" })).toBeVisible();
});
