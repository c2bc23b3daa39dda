import { fireEvent, screen } from "@testing-library/react";
import { expect, it, vi } from "vitest";

import { renderWithTheme } from "../../lib/testRender";
import { effectWords } from "./effects";
import { Verification } from "./Verification";

it("adds and removes checks in the order of the YAML field", () => {
  const change = vi.fn();
  renderWithTheme(
    <Verification
      label="Check responses"
      verify={{ checks: ["tools", "hook"], hook: "https://a.example", threshold: 0.7 }}
      onChange={change}
    />,
  );
  fireEvent.click(screen.getByLabelText("JSON matches the request’s schema"));
  expect(change).toHaveBeenLastCalledWith({
    checks: ["schema", "tools", "hook"],
    hook: "https://a.example",
    threshold: 0.7,
  });
  fireEvent.click(screen.getByLabelText("A hook returns at least the minimum score"));
  expect(change).toHaveBeenLastCalledWith({ checks: ["tools"] });
  fireEvent.click(screen.getByLabelText(/Also check streamed responses/));
  expect(change.mock.lastCall?.[0]).toMatchObject({ streams: false });
});

it("describes the checks", () => {
  expect(effectWords({ name: "a", verify: { checks: ["schema", "tools"], streams: false } })).toEqual([
    "Checks responses: schema, tools, except streamed ones",
  ]);
});
