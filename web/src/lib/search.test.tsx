import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";

import { parseSearch, stringifySearch, useGo, useSearchParams } from "./search";

function Page() {
  const [search, change] = useSearchParams();
  const go = useGo();
  return (
    <>
      <output>{JSON.stringify(search)}</output>
      <button onClick={() => change({ model: "b", live: undefined })}>change</button>
      <button onClick={() => change({ id: "req_1" }, true)}>push</button>
      <button onClick={() => void go({ to: "/other", search: { q: "x" } })}>go</button>
    </>
  );
}

async function open(path: string) {
  const root = createRootRoute();
  const routes = ["/", "/other"].map((p) =>
    createRoute({ getParentRoute: () => root, path: p, component: Page }),
  );
  const history = createMemoryHistory({ initialEntries: [path] });
  const router = createRouter({ routeTree: root.addChildren(routes), history, parseSearch, stringifySearch });
  render(<RouterProvider router={router as never} />);
  await screen.findByRole("status");
  return history;
}

const shown = () => screen.getByRole("status").textContent;

it("merges changes into the URL and removes undefined parameters", async () => {
  const history = await open("/?model=a&live=1&from=now-1h");
  await userEvent.click(screen.getByText("change"));
  await expect.poll(shown).toBe('{"model":"b","from":"now-1h"}');
  expect(history.location.href).toBe("/?model=b&from=now-1h");
  expect(history.length).toBe(1);
});

it("adds a history entry only on request", async () => {
  const history = await open("/?model=a");
  await userEvent.click(screen.getByText("push"));
  await expect.poll(() => history.location.href).toBe("/?model=a&id=req_1");
  expect(history.length).toBe(2);
});

it("navigates to another page with its parameters", async () => {
  const history = await open("/?model=a");
  await userEvent.click(screen.getByText("go"));
  await expect.poll(() => history.location.href).toBe("/other?q=x");
});
