import { execFile } from "node:child_process";
import { promisify } from "node:util";

import type { Locator, Page } from "@playwright/test";

import { owner } from "./client";
import { expect, expectAccessible, type Watch } from "./fixtures";
import type { Gateway } from "./gateway";
import type { Upstream } from "./upstream";

/** One way to operate a page: with a pointer or with the keyboard. */
export interface Operator {
  press(target: Locator): Promise<void>;
  fill(field: Locator, text: string): Promise<void>;
}

/** A mouse, or a finger on a phone. */
export const pointer: Operator = {
  press: (target) => target.click(),
  fill: (field, text) => field.fill(text),
};

/** The keyboard alone: Tab moves the focus, Enter presses. */
export function keyboard(page: Page): Operator {
  return {
    async press(target) {
      await focusByTab(page, target);
      await page.keyboard.press("Enter");
    },
    async fill(field, text) {
      await focusByTab(page, field);
      await page.keyboard.press("ControlOrMeta+a");
      await page.keyboard.type(text);
    },
  };
}

/** Presses Tab until the element has the focus. It must then be visible and look different. */
async function focusByTab(page: Page, target: Locator): Promise<void> {
  await expect(target).toBeEnabled();
  const look = () =>
    target.evaluate((element) => {
      // The border of a password field belongs to an element around the input.
      const styles = [element, element.parentElement ?? element].map((shown) => getComputedStyle(shown));
      return {
        focused: element === document.activeElement,
        look: styles
          .map((style) =>
            [style.outline, style.boxShadow, style.borderColor, style.backgroundColor].join(" "),
          )
          .join(", "),
      };
    });
  const before = await look();
  const focused = () => target.evaluate((element) => element === document.activeElement);
  for (let pressed = 0; !(await focused()); pressed++) {
    if (pressed === 200) {
      throw new Error(`${target} is not reachable with Tab`);
    }
    await page.keyboard.press("Tab");
  }
  await expect(target).toBeInViewport();
  if (!before.focused) {
    await expect
      .poll(async () => (await look()).look, `${target} looks different with the focus`)
      .not.toBe(before.look);
  }
}

/** Goes from a fresh start to the conversation of the first request: account, provider, baseline, key, request. */
export async function firstRun(
  page: Page,
  watch: Watch,
  gateway: Gateway,
  upstream: Upstream,
  operator: Operator,
): Promise<void> {
  watch.allowRecent();
  watch.allow(/400.*\/api\/v1\/providers/); // the test call of the provider fails, because the key is wrong
  await page.goto(`${gateway.url}/welcome#${await gateway.setupCode()}`);
  await operator.fill(page.getByRole("textbox", { name: "Name" }), owner.name);
  await operator.fill(page.getByRole("textbox", { name: "Email" }), owner.email);
  await operator.fill(page.getByLabel(/^Password/), owner.password);
  await operator.press(page.getByRole("button", { name: "Create account" }));
  await expect(page.getByRole("heading", { level: 1, name: "Quickstart" })).toBeVisible();

  await operator.press(page.getByRole("button", { name: "Connect provider" }));
  const dialog = page.getByRole("dialog", { name: "Connect provider" });
  await operator.fill(dialog.getByRole("textbox", { name: "Search providers" }), "openai");
  await expect(dialog.getByRole("button", { name: "Groq" })).toHaveCount(0);
  await expectAccessible(page);
  await operator.press(dialog.getByRole("button", { name: /^OpenAI/ }));
  await operator.press(dialog.getByRole("button", { name: "Base URL and name" }));
  await operator.fill(dialog.getByRole("textbox", { name: "Base URL" }), upstream.baseUrl);
  await operator.fill(dialog.getByLabel("API key"), "sk-wrong-0123456789abcd");
  await operator.press(dialog.getByRole("button", { name: "Test and connect" }));
  await expect(dialog.getByRole("alert")).toContainText(
    "OpenAI rejected the key (status 401): Incorrect API key provided.",
  );
  await expect(dialog.getByRole("alert")).not.toContainText("sk-wrong");
  await expectAccessible(page);
  await operator.fill(dialog.getByLabel("API key"), upstream.key ?? "");
  await operator.press(dialog.getByRole("button", { name: "Test and connect" }));
  await expect(dialog.getByRole("status")).toContainText("OpenAI is live");
  await expect(dialog.getByRole("status")).toContainText("Found 4 models, 3 with a price.");
  await expect(dialog.getByRole("table").getByRole("row", { name: /gpt-4\.1-mini/ })).toContainText("$0.40");
  await expectAccessible(page);
  await operator.press(dialog.getByRole("button", { name: "Done" }));
  await expect(page.getByRole("region", { name: "Provider connected" })).toContainText(
    "1 provider connected: OpenAI.",
  );

  const baseline = page.getByRole("region", { name: "Which model do you use today?" });
  await expect(baseline).toContainText("Until you set one, pages show costs without savings.");
  await operator.fill(baseline.getByRole("combobox", { name: "Model you use today" }), "gpt-4.1");
  await operator.press(baseline.getByRole("button", { name: "Set baseline" }));
  await expect(baseline).toContainText("Savings are measured against gpt-4.1.");

  await operator.press(page.getByRole("button", { name: "Create key" }));
  await expect(page.getByRole("region", { name: "Key created" }).getByRole("status")).toHaveText("Done");
  const request = page.getByRole("region", { name: "First request received" });
  const snippet = await request.getByRole("tabpanel").locator("pre").innerText();
  const { stdout } = await promisify(execFile)("bash", ["-c", snippet]);
  const completion = JSON.parse(stdout) as { object: string; choices: { message: { content: string } }[] };
  expect(completion.object).toBe("chat.completion");
  await operator.press(request.getByRole("link", { name: "View request" }));
  await expect(page.getByText("Served by")).toContainText("on openai");
  await expect(page.getByText("Served by")).toContainText("less than gpt-4.1");
  await expect(page.getByText("SIMULATED")).toHaveCount(0);
  await expect(page.getByRole("tab", { name: "Conversation", selected: true })).toBeVisible();
  await expect(page.getByRole("tabpanel", { name: "Conversation" })).toContainText(
    completion.choices[0]?.message.content ?? "",
  );
}
