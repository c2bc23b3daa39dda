import { expect, type Locator, type Page } from "@playwright/test";

/** The YAML editor of the policies. */
export function editorOf(page: Page): Locator {
  return page.getByRole("textbox", { name: "Policies as YAML" });
}

/** Replaces the document with these policies and waits until the gateway has checked it. */
export async function write(page: Page, ...policies: string[]): Promise<void> {
  const checked = page.waitForResponse((response) => response.url().includes("/policies/check"));
  await editorOf(page).press("ControlOrMeta+a"); // do not use fill(): it changes the selection from outside, and a busy editor may restore the old selection
  await page.keyboard.insertText(documentOf(policies));
  await checked;
}

/** A YAML document of policies, each given by its lines. */
export function documentOf(policies: string[]): string {
  const lines = policies.flatMap((policy) => policy.split("\n").map((line, i) => (i === 0 ? `  - ${line}` : `    ${line}`)));
  return ["policies:", ...lines, ""].join("\n");
}

/** Saves the draft with a note. */
export async function save(page: Page, note: string): Promise<void> {
  await page.getByRole("button", { name: "Save…" }).click();
  const dialog = page.getByRole("dialog", { name: "Save policies" });
  await dialog.getByRole("textbox", { name: "Note" }).fill(note);
  await dialog.getByRole("button", { name: /^Save as version/ }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByRole("region", { name: "Unsaved changes" })).toHaveCount(0);
}
