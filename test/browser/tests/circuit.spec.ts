import { chat, eventually } from "../support/client";
import { expect, test, useWorld } from "../support/fixtures";
import { Upstream } from "../support/upstream";

interface Providers {
  providers: { name: string; targets: { health: { reason_text: string | null } }[] }[];
}

let first: Upstream;
let second: Upstream;
const world = useWorld(async () => {
  [first, second] = await Promise.all([Upstream.start(), Upstream.start()]);
  const model = (price: number) => `{ name: twin, input_per_mtok: ${price}, output_per_mtok: ${price}, context: 128000 }`;
  return {
    config: `
breaker: { failures: 2, probe_after: 1s }
providers:
  - { name: alpha, base_url: "${first.baseUrl}", models: [${model(1)}] }
  - { name: beta, base_url: "${second.baseUrl}", models: [${model(9)}] }
`,
  };
});

test.afterAll(async () => {
  await first?.kill();
  await second?.kill();
});

test("a killed provider's circuit is shown within two seconds, and so is its recovery", async ({ page, context }) => {
  const { client } = world;
  const key = await client.key("steady");
  const send = () => client.send({ key, body: chat("twin", "Still there?") });
  expect((await send()).headers.get("x-fairlead-provider")).toBe("alpha");

  await page.goto(`${world.gateway.url}/providers`);
  const alpha = page.getByRole("article", { name: "alpha" });
  await expect(alpha).toContainText("Model healthy");
  await first.kill();
  let response = await send();
  for (let i = 0; i < 3; i++) {
    response = await send();
  }
  expect(response.status).toBe(200);
  expect(response.headers.get("x-fairlead-provider")).toBe("beta");
  await expect(alpha.getByText(/^(Paused|Retrying)$/)).toBeVisible({ timeout: 3000 }); // the page polls every two seconds
  await expect(alpha.getByText(/^(Down|Recovering)$/)).toBeVisible();
  const { providers } = await client.call<Providers>("GET", "/providers");
  const reason = providers.find((p) => p.name === "alpha")?.targets[0]?.health.reason_text;
  expect(reason).toBeTruthy();
  await expect(alpha).toContainText(reason ?? "");

  await client.logged(response.id);
  const list = await context.newPage();
  await list.goto(`${world.gateway.url}/requests?decision=fallback&from=now-1h`);
  await expect(list.getByRole("row").filter({ hasText: "beta" }).first()).toContainText("fallback");
  await list.goto(`${world.gateway.url}/requests/${response.id}`);
  await expect(list.getByText("Served by")).toContainText("fallback");

  await first.revive();
  await eventually("traffic returns gradually", async () => {
    await send();
    return (await alpha.textContent())?.includes("Model healthy") ?? false;
  });
  expect((await send()).headers.get("x-fairlead-provider")).toBe("alpha");
  await list.close();
});

test("resetting a circuit manually sends requests to the provider again", async ({ page }) => {
  const { client } = world;
  const key = await client.key("manual");
  const send = () => client.send({ key, body: chat("twin", "And now?") });
  await first.kill();
  for (let i = 0; i < 4; i++) {
    await send();
  }
  await page.goto(`${world.gateway.url}/providers`);
  const alpha = page.getByRole("article", { name: "alpha" });
  const reset = alpha.getByRole("button", { name: "Reset circuit breakers" });
  await expect(reset).toBeVisible();
  await first.revive();
  await reset.click();
  await expect(alpha).toContainText("Model healthy");
  expect((await send()).headers.get("x-fairlead-provider")).toBe("alpha");
});
