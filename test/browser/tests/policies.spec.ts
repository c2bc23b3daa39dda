import type { Page } from "@playwright/test";

import { Client, owner } from "../support/client";
import { editorOf, documentOf, save, write } from "../support/editor";
import { expect, expectAccessible, prepare, test, useWorld } from "../support/fixtures";

const world = useWorld({
  config: `
policies:
  - name: short-answers
    description: For everybody.
    when: request.source == "key"
    max_output_tokens: 5000
`,
});

const own = ["name: one\npin: sim-small", "name: two\nobjective: cost", "name: three\nlog_bodies: false"];

async function newest(): Promise<{ version: number; source: string }> {
  return (await world.client.call<{ workspace: { version: number; source: string } }>("GET", "/policies")).workspace;
}

/** Saves these policies as the active version. */
async function activate(...policies: string[]): Promise<void> {
  const { version } = await newest();
  await world.client.call("PUT", "/policies", { source: documentOf(policies), based_on: version, note: "for a test" });
}

test.beforeEach(async ({ page }) => {
  await activate(...own);
  await page.goto(`${world.gateway.url}/routing/policies`);
  await expect(editorOf(page)).toContainText("name: three");
});

test("global policies come first and are read-only", async ({ page }) => {
  const instance = page.getByRole("region", { name: "Global policies" });
  await expect(instance).toContainText(world.gateway.config);
  const policy = instance.getByRole("listitem", { name: "short-answers" });
  await expect(policy).toContainText("If source is key");
  await expect(policy).toContainText("Max 5,000 output tokens");
  await expect(policy.getByRole("button")).toHaveCount(0);
  await expect(policy.getByRole("switch")).toHaveCount(0);
});

test("form and YAML editor edit one document", async ({ page }) => {
  await page.getByRole("button", { name: "1. one" }).click();
  const form = page.getByRole("listitem", { name: "one" });
  await form.getByRole("textbox", { name: "Condition" }).fill('request.task == "code"');
  await expect(editorOf(page)).toContainText('when: request.task == "code"');
  await form.getByRole("button", { name: "Add comparison" }).click();
  await form.getByRole("combobox", { name: "Value" }).click();
  await page.getByRole("option", { name: "maths" }).click();
  await form.getByRole("button", { name: "Add", exact: true }).click();
  await expect(editorOf(page)).toContainText('request.task == "code" && request.task == "maths"');
  await form.getByRole("combobox", { name: "Pin a model" }).or(form.getByRole("textbox", { name: "Pin a model" })).fill("sim-smal");
  await expect(form.getByText(/model.*"sim-smal"/).first()).toBeVisible();
  await expect(page.getByRole("button", { name: "Save…" })).toBeDisabled();
  await page.keyboard.press("Tab"); // closes the suggestions
  await expectAccessible(page);

  await write(page, "name: fresh\ndeny: Not here.");
  await expect(page.getByRole("listitem", { name: "fresh" })).toContainText("Denies: “Not here.”");
  await expect(page.getByRole("listitem", { name: "one" })).toHaveCount(0);
  await write(page, "name: fresh\ndenny: Not here.");
  await expect(page.getByText("The YAML has errors. The list shows the last valid policies")).toBeVisible();
});

test("completion suggests fields and models", async ({ page }) => {
  const editor = editorOf(page);
  await editor.click();
  await page.keyboard.press("Control+End");
  // The list may be rebuilt or closed before the click, so the click is repeated until the completion was inserted.
  const take = async (name: RegExp, written: RegExp) => {
    const suggestion = page.getByRole("option", { name }).first();
    await expect(async () => {
      if (written.test((await editor.textContent()) ?? "")) {
        return;
      }
      if (!(await suggestion.isVisible())) {
        await page.keyboard.press("Control+Space");
      }
      await suggestion.click({ timeout: 1_000 });
      await expect(editor).toContainText(written, { timeout: 1_000 });
    }).toPass();
  };
  await page.keyboard.type("  - name: four\npi");
  await take(/^pin/, /name: four\s*pin:/);
  await page.keyboard.type("sim-fl");
  await take(/^sim-flagship/, /pin: sim-flagship/);
  await expect(editor).toContainText("pin: sim-flagship");
  await expect(page.getByRole("listitem", { name: "four" })).toContainText("Pins sim-flagship");
});

test("policies can be moved by dragging, keyboard and menu", async ({ page }) => {
  const names = page.getByRole("region", { name: "Workspace policies" }).getByRole("listitem");
  const order = async (...expected: string[]) => {
    await expect(names).toHaveCount(expected.length);
    await expect(names).toContainText(expected.map((name, i) => `${i + 1}. ${name}`));
    await expect(editorOf(page)).toContainText(new RegExp(expected.map((name) => `name: ${name}`).join("[^]*")));
  };
  await page.getByRole("button", { name: /^Move three/ }).dragTo(names.first(), { targetPosition: { x: 40, y: 4 } });
  await order("three", "one", "two");
  await page.getByRole("button", { name: /^Move three/ }).focus();
  await page.keyboard.press("Alt+ArrowDown");
  await order("one", "three", "two");
  await expect(page.getByText("Moved three to position 2 of 3")).toBeAttached();
  await expect(page.getByRole("button", { name: /^Move three/ })).toBeFocused();
  await page.getByRole("button", { name: "Actions for two" }).click();
  await page.getByRole("menuitem", { name: "Move up" }).click();
  await order("one", "two", "three");
  await page.getByRole("switch", { name: "Enable two" }).press("Space");
  await expect(editorOf(page)).toContainText("enabled: false");
  await page.getByRole("button", { name: "Actions for one" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await order("two", "three");
  await save(page, "shorter");
  expect((await newest()).source).not.toContain("name: one");
});

test("the list and the form keep comments, order and quoting", async ({ page }) => {
  const lines = ["# All of them.", "policies:", "  # The first one.", '  - when: "request.auto" # why', "    name: first", "    pin: sim-nano", ""];
  await editorOf(page).press("ControlOrMeta+a");
  const checked = page.waitForResponse((response) => response.url().includes("/policies/check"));
  await page.keyboard.insertText(lines.join("\n"));
  await checked;
  await page.getByRole("switch", { name: "Enable first" }).press("Space");
  await expect(editorOf(page)).toContainText("enabled: false");
  await page.getByRole("button", { name: "Add policy" }).click();
  await expect(editorOf(page)).toContainText("name: new-policy");
  await save(page, "with comments");
  expect((await newest()).source).toBe(
    [...lines.slice(0, 5), "    enabled: false", ...lines.slice(5, 6), "  - name: new-policy", "    objective: cost", ""].join("\n"),
  );
});

test("unsaved changes are guarded", async ({ page }) => {
  await write(page, "name: mine\npin: sim-nano");
  await page.getByRole("link", { name: "Models" }).first().click();
  const question = page.getByRole("dialog", { name: "Leave without saving?" });
  await question.getByRole("button", { name: "Cancel" }).click();
  await expect(editorOf(page)).toContainText("name: mine");
  await page.getByRole("tab", { name: "Versions" }).click();
  await page.getByRole("tab", { name: "Policies", exact: true }).click(); // switching tabs keeps the draft
  await expect(editorOf(page)).toContainText("name: mine");
  const asked = page.waitForEvent("dialog");
  await page.evaluate(() => void setTimeout(() => location.reload(), 0));
  await (await asked).dismiss();
  await expect(editorOf(page)).toContainText("name: mine");
  await page.getByRole("link", { name: "Models" }).first().click();
  await question.getByRole("button", { name: "Leave" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Models" })).toBeVisible();
});

test("a conflict with a newer version shows both changes", async ({ page, watch }) => {
  watch.allow(/409/);
  await write(page, "name: mine\npin: sim-nano");
  await activate("name: theirs\npin: sim-large");
  const { version } = await newest();
  await page.getByRole("button", { name: "Save…" }).click();
  const dialog = page.getByRole("dialog", { name: "Save policies" });
  await dialog.getByRole("button", { name: /^Save as version/ }).click();
  await expect(dialog.getByText("Newer version saved")).toBeVisible();
  await expect(dialog.getByRole("region", { name: "Their changes" })).toContainText("name: theirs");
  await expectAccessible(page);
  await dialog.getByRole("tab", { name: /^Your changes/ }).click();
  await expect(dialog.getByRole("region", { name: "Your changes" })).toContainText("name: mine");
  await dialog.getByRole("button", { name: `Load version ${version} and discard mine` }).click();
  await expect(editorOf(page)).toContainText("name: theirs");
  await expect(page.getByRole("region", { name: "Unsaved changes" })).toHaveCount(0);
});

test("a viewer sees policies read-only and can run dry runs and backtests", async ({ browser, watch }) => {
  const { token } = await world.client.call<{ token: string }>("POST", "/workspace/invitations", { role: "viewer" });
  const viewer = await new Client(world.gateway.url).register({ name: "Vi", email: "vi@example.com", password: "correct horse battery", invitation: token });
  const context = await browser.newContext();
  await prepare(context, watch);
  await viewer.enter(context);
  const page = await context.newPage();
  await page.goto(`${world.gateway.url}/routing/policies`);
  await expect(page.getByText("Policies are read-only here")).toBeVisible();
  await expect(page.getByRole("listitem", { name: "one" }).getByRole("button")).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Add policy" })).toHaveCount(0);
  await expect(page.getByText("No default model is set, so only costs are shown, no savings.")).toBeVisible();
  await expect(page.getByRole("link", { name: "Change" })).toHaveCount(0);
  await expect(editorOf(page)).toHaveAttribute("contenteditable", "false");
  await expectAccessible(page);
  await page.getByText("Dry run", { exact: true }).click();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByText("simulator/sim-small", { exact: true })).toBeVisible();
  await page.getByRole("tab", { name: "Backtest" }).click();
  await page.getByRole("button", { name: "Run backtest" }).click();
  await expect(page.getByText("No matching requests in this time range.")).toBeVisible();
  await context.close();
});

test("a draft survives an expired session but not a sign-out", async ({ page, context, watch }) => {
  watch.allow(/\b401\b/);
  const person = new Client(world.gateway.url);
  await person.call("POST", "/session", { email: owner.email, password: owner.password });
  await person.enter(context);
  await page.reload();
  await write(page, "name: mine\npin: sim-nano");
  await person.call("DELETE", "/session");
  await page.getByRole("tab", { name: "Versions" }).click(); // calls the gateway
  await signIn(page);
  await page.getByRole("tab", { name: "Policies", exact: true }).click();
  await expect(editorOf(page)).toContainText("name: mine");
  await expect(page.getByRole("button", { name: "Save…" })).toBeEnabled();

  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await signIn(page);
  await page.getByRole("tab", { name: "Policies", exact: true }).click();
  await expect(editorOf(page)).toContainText("name: three");
});

async function signIn(page: Page): Promise<void> {
  await page.getByRole("textbox", { name: "Email" }).fill(owner.email);
  await page.getByLabel(/^Password/).fill(owner.password);
  await page.getByRole("button", { name: "Sign in" }).click();
}
