import { expect, it } from "vitest";

import { lazyPage } from "./lazyPage";
import { LoadError } from "./newVersion";

async function failureOf(cause: Error): Promise<unknown> {
  const page = lazyPage(() => Promise.reject<{ default: () => null }>(cause));
  await page.preload?.();
  try {
    (page as (props: object) => unknown)({});
  } catch (error) {
    return error;
  }
  return undefined;
}

it("leaves the reload for a missing file to the page error", async () => {
  sessionStorage.clear();
  const cause = new TypeError("Failed to fetch dynamically imported module: /assets/a.js");
  const error = await failureOf(cause);
  expect(error).toBeInstanceOf(LoadError);
  expect((error as Error).cause).toBe(cause);
  expect(sessionStorage.length).toBe(0); // the router records its own reloads there
});

it("passes other errors on", async () => {
  const cause = new Error("x is not a function");
  expect(await failureOf(cause)).toBe(cause);
});
