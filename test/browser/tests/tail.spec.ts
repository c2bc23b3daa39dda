import { chat } from "../support/client";
import { expect, test, useWorld } from "../support/fixtures";
import { Upstream } from "../support/upstream";

const burst = 1000;
let upstream: Upstream;
const world = useWorld(async () => {
  upstream = await Upstream.start({ usage: { prompt: 10, output: 2 } });
  return {
    config: `
providers:
  - name: alpha
    base_url: ${upstream.baseUrl}
    models:
      - { name: quick, input_per_mtok: 1, output_per_mtok: 2, context: 128000 }
`,
  };
});

test.afterAll(async () => upstream?.kill());

test("opening Requests makes one list call, and a live burst keeps at most 500 rows", async ({ page, watch }) => {
  watch.allowRecent();
  test.setTimeout(90_000);
  const { client } = world;
  const key = await client.key("load");
  const { id } = await client.send({ key, body: chat("quick", "the first") });
  await client.logged(id);

  const lists: string[] = [];
  const details: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (pathname === "/api/v1/requests") {
      lists.push(request.url());
    } else if (/^\/api\/v1\/requests\/req_/.test(pathname)) {
      details.push(request.url());
    }
  });
  await page.goto(`${world.gateway.url}/requests?from=now-1h&live=1`);
  await expect(page.getByRole("row").filter({ hasText: "the first" })).toBeVisible();
  await expect(page.getByText("Live updates on", { exact: true })).toBeVisible();
  expect(lists).toHaveLength(1);

  const maxRows = page.evaluate(async (end) => {
    // Count rows at every DOM change, to catch the maximum.
    let rows = 0;
    await new Promise<void>((resolve) => {
      const count = () => {
        const found = document.querySelectorAll("[data-row]");
        rows = Math.max(rows, found.length);
        if (found[0]?.textContent?.includes(end)) {
          resolve();
        }
      };
      new MutationObserver(count).observe(document.body, { childList: true, subtree: true });
    });
    return rows;
  }, "the very last");
  const workers = Array.from({ length: 25 }, async () => {
    for (let n = 0; n < burst / 25; n++) {
      await client.send({ key, body: chat("quick", "more") });
    }
  });
  await Promise.all(workers);
  await client.send({ key, body: chat("quick", "the very last") });

  const rows = await maxRows;
  expect(rows).toBeGreaterThan(300); // the burst was received
  expect(rows).toBeLessThanOrEqual(500);
  expect(details).toEqual([]);
  await page.getByRole("row").filter({ hasText: "the very last" }).click();
  await expect(page.getByRole("dialog").getByText("Served by")).toBeVisible(); // the tab still responds
});
