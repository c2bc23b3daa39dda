import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { copyText } from "./clipboard";

const execCommand = vi.fn<(command: string) => boolean>();

function setClipboard(writeText: ((text: string) => Promise<void>) | undefined, secure: boolean): void {
  Object.defineProperty(navigator, "clipboard", { value: writeText && { writeText }, configurable: true });
  Object.defineProperty(window, "isSecureContext", { value: secure, configurable: true });
}

beforeEach(() => {
  execCommand.mockReset().mockReturnValue(true);
  document.execCommand = execCommand;
});

afterEach(() => setClipboard(undefined, false));

it("uses the clipboard API on a secure origin", async () => {
  const writeText = vi.fn(() => Promise.resolve());
  setClipboard(writeText, true);
  expect(await copyText("secret")).toBe(true);
  expect(writeText).toHaveBeenCalledWith("secret");
  expect(execCommand).not.toHaveBeenCalled();
});

it.each<[string, (() => Promise<void>) | undefined, boolean]>([
  ["is missing", undefined, true],
  ["is on an insecure origin", () => Promise.resolve(), false],
  ["denies permission", () => Promise.reject(new Error("denied")), true],
])("copies through a field when the clipboard API %s", async (_, writeText, secure) => {
  setClipboard(writeText, secure);
  let copied = "";
  execCommand.mockImplementation(() => {
    copied = document.querySelector("textarea")?.value ?? "";
    return true;
  });
  expect(await copyText("secret")).toBe(true);
  expect(copied).toBe("secret");
  expect(document.querySelector("textarea")).toBeNull();
});

it("restores the focus", async () => {
  document.body.innerHTML = "<button>Copy</button>";
  const button = document.querySelector("button");
  button?.focus();
  await copyText("x");
  expect(document.activeElement).toBe(button);
});

it("uses the last dialog when the focus is outside of it", async () => {
  document.body.innerHTML = '<div role="dialog" id="first"></div><div role="dialog" id="second"></div>';
  let parent: string | undefined;
  execCommand.mockImplementation(() => {
    parent = document.querySelector("textarea")?.parentElement?.id;
    return true;
  });
  await copyText("x");
  expect(parent).toBe("second");
});

it.each<[string, () => boolean]>([
  ["returns false", () => false],
  [
    "throws",
    () => {
      throw new Error("unsupported");
    },
  ],
])("reports a failure when the copy command %s", async (_, command) => {
  execCommand.mockImplementation(command);
  expect(await copyText("x")).toBe(false);
});
