import type { Page } from "@playwright/test";

import { chat } from "../support/client";
import { expect, test, useWorld } from "../support/fixtures";

const world = useWorld();

// A generous limit for busy machines. A task usually takes a fraction of a second. Without the dashboard's
// special handling of long text, a task takes 40 seconds.
const maxTaskMs = 5_000;

// Kerning pairs, which are the slowest to lay out.
const run = "AV".repeat(50_000);

/** Runs work in the page and returns the duration of the longest task in milliseconds. */
async function longestTask(
  page: Page,
  work: () => Promise<void>,
): Promise<number> {
  await page.evaluate(() => {
    const target = window as unknown as { longest: number };
    target.longest = 0;
    new PerformanceObserver((list) => {
      target.longest = Math.max(
        target.longest,
        ...list.getEntries().map((entry) => entry.duration),
      );
    }).observe({ type: "longtask" });
  });
  await work();
  // Two frames, so that the layout of the last change is included.
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

test("100 KB without spaces do not freeze the page of a request", async ({
  page,
}) => {
  const { client } = world;
  const { id } = await client.send({
    key: await client.key("long"),
    body: chat("sim-nano", run, { max_tokens: 8 }),
  });
  await client.logged(id);
  await page.goto(`${world.gateway.url}/requests/${id}?tab=cost`);
  const show = await longestTask(page, async () => {
    await page.getByRole("tab", { name: "Conversation" }).click();
    await expect(page.getByLabel("Message 1, user")).toBeVisible();
  });
  const find = await longestTask(page, async () => {
    await page.getByRole("textbox", { name: "Find in messages" }).fill("A");
  });
  const json = await longestTask(page, async () => {
    await page.getByRole("tab", { name: "Raw" }).click();
    await expect(page.locator("pre").first()).toBeVisible();
  });
  const tasks = { show, find, json };
  for (const [name, ms] of Object.entries(tasks)) {
    expect(ms, name).toBeLessThan(maxTaskMs);
  }
});

test("100 KB without spaces do not freeze the playground", async ({
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
    expect(ms, name).toBeLessThan(maxTaskMs);
  }
});
