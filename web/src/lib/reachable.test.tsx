import { act, render, screen } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";

import { setReachable, useReachable } from "./reachable";

let renders = 0;

function Status() {
  renders++;
  return <p>{useReachable() ? "reachable" : "unreachable"}</p>;
}

beforeEach(() => setReachable(true));

it("follows the result of the last call and renders only on a change", () => {
  render(<Status />);
  expect(screen.getByText("reachable")).toBeTruthy();
  const before = renders;
  act(() => setReachable(true));
  expect(renders).toBe(before);
  act(() => setReachable(false));
  expect(screen.getByText("unreachable")).toBeTruthy();
});
