/**
 * copyText copies text to the clipboard and reports whether it succeeded. Browsers offer the clipboard API to secure
 * origins only, and many gateways run on plain http://. The fallback is a hidden field. It is inside the open dialog,
 * because a dialog that traps focus would otherwise move the focus away from the field.
 */
export async function copyText(text: string): Promise<boolean> {
  // eslint-disable-next-line no-restricted-properties -- this is the shared helper
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (clipboard && window.isSecureContext) {
    try {
      await clipboard.writeText(text);
      return true;
    } catch {
      // Permission denied, or the page has no focus: use the fallback.
    }
  }
  return copyFromField(text);
}

function copyFromField(text: string): boolean {
  const before = document.activeElement;
  const host = before?.closest<HTMLElement>("[role=dialog]") ?? lastDialog() ?? document.body;
  const field = document.createElement("textarea");
  field.value = text;
  field.readOnly = true;
  field.setAttribute("aria-hidden", "true");
  field.style.position = "fixed";
  field.style.opacity = "0";
  host.append(field);
  field.select();
  let copied = false;
  try {
    copied = document.execCommand("copy");
  } catch {
    copied = false;
  }
  field.remove();
  if (before instanceof HTMLElement) {
    before.focus({ preventScroll: true });
  }
  return copied;
}

function lastDialog(): HTMLElement | undefined {
  return [...document.querySelectorAll<HTMLElement>("[role=dialog]")].at(-1);
}
