import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";

import { renderWithTheme } from "../../../lib/testRender";
import { RequestView } from "./RequestView";

afterEach(() => vi.unstubAllGlobals());

function open(status: number) {
  const body = {
    error: "Failed.",
    code: "CODE",
    details: { request_id: "adm_1", origin: "client", retryable: false },
  };
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(JSON.stringify(body), { status })));
  renderWithTheme(
    <QueryClientProvider client={new QueryClient()}>
      <RequestView id="req_00000000000000000000000000" />
    </QueryClientProvider>,
  );
}

it("explains a request that does not exist without an error code", async () => {
  open(404);
  expect(await screen.findByText("Request not found")).toBeTruthy();
  expect(screen.queryByText(/CODE/)).toBeNull();
});

it("shows other errors with their code and id", async () => {
  open(500);
  expect((await screen.findByRole("alert")).textContent).toContain("CODE · adm_1");
});
