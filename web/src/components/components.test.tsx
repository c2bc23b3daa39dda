import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";

import { ApiError } from "../api/errors";
import { renderPart } from "../lib/testRender";
import { DecisionBadge, OutcomeBadge } from "./badges";
import { ConfirmDialog } from "./ConfirmDialog";
import { CopyButton } from "./CopyButton";
import { DataTable } from "./DataTable";
import { ErrorPanel } from "./ErrorPanel";
import { FilterBar } from "./FilterBar";
import { Money } from "./Money";

describe("Money", () => {
  it("shows a dash for what is unknown and says why to the keyboard, too", () => {
    renderPart(<Money amount={null} why="No price." />);
    expect(screen.getByText("—").tabIndex).toBe(0);
  });
});

describe("badges", () => {
  it("say in words what their colour says", () => {
    renderPart(
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
  it("copies from a field inside the open dialog where there is no clipboard, and says so", async () => {
    let place: Element | null | undefined;
    document.execCommand = vi.fn(() => {
      place = document.querySelector("textarea")?.parentElement;
      return true;
    });
    renderPart(
      <div role="dialog" aria-label="New key">
        <CopyButton text="fl_secret" />
      </div>,
    );
    Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true });
    screen.getByRole("button", { name: "Copy" }).click();
    expect(await screen.findByText("Copied")).toBeTruthy();
    expect(place?.getAttribute("role")).toBe("dialog");
    expect(document.querySelector("textarea")).toBeNull();
  });

  it("says when it could not copy", async () => {
    document.execCommand = () => false;
    renderPart(<CopyButton text="x" />);
    screen.getByRole("button", { name: "Copy" }).click();
    expect(await screen.findByText("Select and copy by hand")).toBeTruthy();
  });
});

describe("ErrorPanel", () => {
  it("tells what failed, with the request id, and tries again", async () => {
    const retry = vi.fn();
    const error = new ApiError("OVERLOADED", "Try again later.", 503, "req_1", { retryable: true });
    renderPart(<ErrorPanel what="The keys could not be loaded" error={error} onRetry={retry} />);
    expect(screen.getByRole("alert").textContent).toContain("OVERLOADED · req_1");
    await userEvent.click(screen.getByRole("button", { name: "Retry" }));
    expect(retry).toHaveBeenCalledOnce();
  });
});

describe("ConfirmDialog", () => {
  it("waits for the name where it asks for one", async () => {
    const confirm = vi.fn();
    renderPart(
      <ConfirmDialog
        opened
        title="Revoke “ci”"
        action="Revoke"
        typed="ci"
        onConfirm={confirm}
        onClose={() => undefined}
      >
        It ends.
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
  const show = (onOpen: (row: { id: string }, apart: boolean) => void) =>
    renderPart(
      <DataTable
        label="Things"
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

  it("is walked with j and k and opened with Enter", async () => {
    const open = vi.fn();
    show(open);
    await userEvent.keyboard("jjk");
    expect(document.activeElement?.textContent).toContain("a");
    await userEvent.keyboard("j{Enter}");
    expect(open).toHaveBeenCalledWith(rows[1], false);
  });

  it("does not open when a control inside is meant", async () => {
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
    renderPart(
      <FilterBar
        filters={{ decision: "fallback,policy" }}
        names={["decision"]}
        onChange={change}
        onClear={() => undefined}
      />,
    );
    await userEvent.click(screen.getByRole("button", { name: "Remove decision fallback" }));
    expect(change).toHaveBeenCalledWith({ decision: "policy" });
  });
});
