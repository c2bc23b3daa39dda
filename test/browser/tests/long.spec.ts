import type { Page } from "@playwright/test";

import { chat } from "../support/client";
import { expect, test, useWorld } from "../support/fixtures";

const world = useWorld();

// Generous, for a busy machine: alone, every task takes a fraction of a second, and without the measures against freezes 40 seconds.
const longestTaskMs = 5_000;

// Pairs of letters that fonts kern, which is the slowest to lay out.
const run = "AV".repeat(50_000);

/** Does something in the page and returns its longest task, in milliseconds. */
async function longestTask(
  page: Page,
  work: () => Promise<void>,
): Promise<number> {
  await page.evaluate(() => {
    const held = window as unknown as { longest: number };
    held.longest = 0;
    new PerformanceObserver((list) => {
      held.longest = Math.max(
        held.longest,
        ...list.getEntries().map((entry) => entry.duration),
      );
    }).observe({ type: "longtask" });
  });
  await work();
  // Two frames, so that the layout of the last change is counted.
  await page.evaluate(
    () =>
      new Promise((resolve) =>
        requestAnimationFrame(() => requestAnimationFrame(resolve)),
      ),
  );
  return page.evaluate(
    () => (window as unknown as { longest: number }).longest,
  );
}

test("a run of 100 KB without spaces does not freeze the page of a request", async ({
  page,
}) => {
  const { client } = world;
  const { id } = await client.send({
    key: await client.key("long"),
    body: chat("sim-nano", run, { max_tokens: 8 }),
  });
  await client.logged(id);
  await page.goto(`${world.gateway.url}/requests/${id}`);
  const show = await longestTask(page, async () => {
    await page.getByRole("button", { name: "Show the texts" }).click();
    await expect(page.getByLabel("Message 1, user")).toBeVisible();
  });
  const find = await longestTask(page, async () => {
    await page.getByRole("textbox", { name: "Find in the texts" }).fill("A");
  });
  const json = await longestTask(page, async () => {
    await page.getByText("JSON", { exact: true }).click();
    await expect(page.locator("pre").first()).toBeVisible();
  });
  const tasks = { show, find, json };
  for (const [name, ms] of Object.entries(tasks)) {
    expect(ms, name).toBeLessThan(longestTaskMs);
  }
});

test("a run of 100 KB without spaces does not freeze the playground", async ({
  page,
}) => {
  await page.goto(`${world.gateway.url}/playground`);
  const paste = await longestTask(page, async () => {
    await page.getByRole("textbox", { name: "Prompt" }).fill(run);
  });
  const send = await longestTask(page, async () => {
    await page.getByRole("button", { name: "Send" }).click();
    await expect(page.getByRole("button", { name: "Stop" })).toHaveCount(0);
  });
  const tasks = { paste, send };
  for (const [name, ms] of Object.entries(tasks)) {
    expect(ms, name).toBeLessThan(longestTaskMs);
  }
});
