import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";

import { ApiError } from "../api/errors";
import { renderWithTheme } from "../lib/testRender";
import { DecisionBadge, OutcomeBadge } from "./badges";
import { ConfirmDialog } from "./ConfirmDialog";
import { CopyButton } from "./CopyButton";
import { DataTable } from "./DataTable";
import { ErrorPanel } from "./ErrorPanel";
import { FilterBar } from "./FilterBar";
import { Money } from "./Money";

describe("Money", () => {
  it("shows a focusable dash for an unknown amount", () => {
    renderWithTheme(<Money amount={null} why="No price." />);
    expect(screen.getByText("—").tabIndex).toBe(0);
  });
});

describe("badges", () => {
  it("name the decision and outcome in words", () => {
    renderWithTheme(
      <>
        <DecisionBadge decision="fallback" />
        <OutcomeBadge outcome="upstream_error" status={502} />
      </>,
    );
    expect(screen.getByText("fallback")).toBeTruthy();
    expect(screen.getByText("502 upstream error")).toBeTruthy();
  });
});

describe("CopyButton", () => {
  it("copies through a field in the open dialog without the clipboard API", async () => {
    let parent: Element | null | undefined;
    document.execCommand = vi.fn(() => {
      parent = document.querySelector("textarea")?.parentElement;
      return true;
    });
    renderWithTheme(
      <div role="dialog" aria-label="New key">
        <CopyButton text="fl_secret" />
      </div>,
    );
    Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true });
    screen.getByRole("button", { name: "Copy" }).click();
    expect(await screen.findByText("Copied")).toBeTruthy();
    expect(parent?.getAttribute("role")).toBe("dialog");
    expect(document.querySelector("textarea")).toBeNull();
  });

  it("reports that copying failed", async () => {
    document.execCommand = () => false;
    renderWithTheme(<CopyButton text="x" />);
    screen.getByRole("button", { name: "Copy" }).click();
    expect(await screen.findByText("Could not copy. Select the text instead.")).toBeTruthy();
  });
});

describe("ErrorPanel", () => {
  it("shows the request id and retries", async () => {
    const retry = vi.fn();
    const error = new ApiError("OVERLOADED", "Try again later.", 503, "req_1", { retryable: true });
    renderWithTheme(<ErrorPanel what="Could not load keys" error={error} onRetry={retry} />);
    expect(screen.getByRole("alert").textContent).toContain("OVERLOADED · req_1");
    await userEvent.click(screen.getByRole("button", { name: "Retry" }));
    expect(retry).toHaveBeenCalledOnce();
  });
});

describe("ConfirmDialog", () => {
  it("enables the action after the name was typed", async () => {
    const confirm = vi.fn();
    renderWithTheme(
      <ConfirmDialog
        opened
        title="Revoke “ci”"
        action="Revoke"
        typed="ci"
        onConfirm={confirm}
        onClose={() => undefined}
      >
        The key stops working.
      </ConfirmDialog>,
    );
    const button = await screen.findByRole("button", { name: "Revoke" });
    expect(button).toHaveProperty("disabled", true);
    await userEvent.type(screen.getByLabelText("Type ci to confirm"), "ci");
    await userEvent.click(button);
    expect(confirm).toHaveBeenCalledOnce();
  });
});

describe("DataTable", () => {
  const rows = [{ id: "a" }, { id: "b" }];
  const show = (onOpen: (row: { id: string }, asPage: boolean) => void) =>
    renderWithTheme(
      <DataTable
        label="Rows"
        rows={rows}
        columns={[
          { id: "id", label: "Id", render: (row) => row.id },
          { id: "act", label: "", render: (row) => <button>act on {row.id}</button> },
        ]}
        rowKey={(row) => row.id}
        phone={(row) => ({ top: row.id, bottom: row.id })}
        onOpen={onOpen}
      />,
    );

  it("moves between rows with j and k and opens one with Enter", async () => {
    const open = vi.fn();
    show(open);
    await userEvent.keyboard("jjk");
    expect(document.activeElement?.textContent).toContain("a");
    await userEvent.keyboard("j{Enter}");
    expect(open).toHaveBeenCalledWith(rows[1], false);
  });

  it("does not open a row when a control inside is clicked", async () => {
    const open = vi.fn();
    show(open);
    await userEvent.click(screen.getByRole("button", { name: "act on a" }));
    expect(open).not.toHaveBeenCalled();
    await userEvent.click(screen.getByText("a"));
    expect(open).toHaveBeenCalledWith(rows[0], false);
  });
});

describe("FilterBar", () => {
  it("removes one value of several", async () => {
    const change = vi.fn();
    renderWithTheme(
      <FilterBar
        filters={{ decision: "fallback,policy" }}
        names={["decision"]}
        onChange={change}
        onClear={() => undefined}
      />,
    );
    await userEvent.click(screen.getByRole("button", { name: "Remove filter decision: fallback" }));
    expect(change).toHaveBeenCalledWith({ decision: "policy" });
  });
});
