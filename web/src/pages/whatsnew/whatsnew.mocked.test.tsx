import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";

import { renderWithTheme } from "../../lib/testRender";
import Changes from "./Changes";
import { WhatsNew } from "./WhatsNew";

let version = "0.2.0";
vi.mock("../../lib/session", () => ({
  useSession: () => ({ account: { id: "acc_1" }, server: { version } }),
}));
vi.mock("../../../../CHANGELOG.md?raw", () => ({
  default: "## 0.2.0\n\n- Charts show `percent`.\n\n## 0.1.0\n\n- The first release.\n",
}));

const key = "fairlead-seen-release-acc_1";

it("is never shown on the first visit", () => {
  localStorage.removeItem(key);
  renderWithTheme(<WhatsNew />);
  expect(screen.queryByRole("region")).toBeNull();
  expect(localStorage.getItem(key)).toBe('"0.2.0"');
});

it("shows the changes once after an upgrade", async () => {
  localStorage.setItem(key, '"0.1.0"');
  const { unmount } = renderWithTheme(<WhatsNew />);
  const note = await screen.findByRole("region", { name: "What’s new in 0.2.0" });
  expect(note.textContent).toContain("Charts show percent.");
  expect(note.textContent).not.toContain("The first release.");
  await userEvent.click(screen.getByRole("button", { name: "Dismiss what’s new" }));
  expect(screen.queryByRole("region")).toBeNull();
  unmount();
  renderWithTheme(<WhatsNew />);
  expect(screen.queryByRole("region")).toBeNull();
});

it("shows nothing for builds without a release and after a downgrade", () => {
  localStorage.setItem(key, '"0.3.0"');
  renderWithTheme(<WhatsNew />);
  expect(localStorage.getItem(key)).toBe('"0.2.0"');
  version = "5fab321";
  localStorage.setItem(key, '"0.1.0"');
  renderWithTheme(<WhatsNew />);
  expect(screen.queryByRole("region")).toBeNull();
  expect(localStorage.getItem(key)).toBe('"0.1.0"');
});

it("names each of several releases", () => {
  const text = "## 0.3.0\n\n- Third.\n\n## 0.2.0\n\n- Second.\n";
  renderWithTheme(<Changes after="0.1.0" release="0.3.0" onClose={() => undefined} text={text} />);
  expect(screen.getByRole("region").textContent).toContain("What’s new in 0.3.00.3.0Third.0.2.0Second.");
});
