import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";

import { renderWithTheme } from "../../lib/testRender";
import type { NewModel } from "./models";
import { NewModels } from "./NewModels";

const copied = vi.hoisted(() => vi.fn((text: string) => Promise.resolve(text !== "")));
vi.mock("../../lib/clipboard", () => ({ copyText: copied }));

function newModel(model: string, more: Partial<NewModel> = {}): NewModel {
  return {
    provider: "openai",
    model,
    kind: "chat",
    first_seen: new Date(Date.now() - 3 * 3600_000).toISOString(),
    last_seen: new Date().toISOString(),
    callable: false,
    config: `providers:\n  - name: openai\n    models:\n      - {name: ${model}, input_per_mtok: PRICE}\n`,
    ...more,
  };
}

describe("NewModels", () => {
  it("is empty without new models", () => {
    renderWithTheme(<NewModels models={[]} />);
    expect(screen.queryByText("New models seen")).toBeNull();
  });

  it("shows provider, name and age, and marks models that can be named", () => {
    renderWithTheme(<NewModels models={[newModel("gpt-99", { callable: true }), newModel("gpt-98")]} />);
    const rows = within(screen.getByRole("table", { name: "New models seen" })).getAllByRole("row");
    expect(rows[1]?.textContent).toContain("gpt-99");
    expect(rows[1]?.textContent).toContain("by name");
    expect(rows[1]?.textContent).toContain("openai");
    expect(rows[1]?.textContent).toContain("3 hours ago");
    expect(rows[2]?.textContent).not.toContain("by name");
  });

  it("copies the configuration that sets the price", async () => {
    renderWithTheme(<NewModels models={[newModel("gpt-99")]} />);
    await userEvent.click(screen.getByRole("button", { name: "Copy configuration" }));
    expect(copied.mock.calls[0]?.[0]).toContain("{name: gpt-99, input_per_mtok: PRICE}");
    expect(await screen.findByText("Copied")).toBeTruthy();
  });

  it("offers to set a price only with permission", async () => {
    const onPrice = vi.fn();
    const { unmount } = renderWithTheme(<NewModels models={[newModel("gpt-99")]} />);
    expect(screen.queryByRole("button", { name: /Set price/ })).toBeNull();
    unmount();
    renderWithTheme(<NewModels models={[newModel("gpt-99")]} onPrice={onPrice} />);
    await userEvent.click(screen.getByRole("button", { name: "Set price for gpt-99 at openai" }));
    expect(onPrice).toHaveBeenCalledWith({
      model: { name: "gpt-99", kind: "chat", targets: [] },
      provider: "openai",
    });
  });

  it("shows the newest first and the rest on request", async () => {
    const models = Array.from({ length: 12 }, (_, i) => newModel(`model-${i}`));
    renderWithTheme(<NewModels models={models} />);
    expect(screen.getAllByRole("row").length).toBe(9);
    await userEvent.click(screen.getByRole("button", { name: "Show all 12 new models" }));
    expect(screen.getAllByRole("row").length).toBe(13);
  });
});
