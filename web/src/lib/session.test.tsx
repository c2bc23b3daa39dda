import { render, screen } from "@testing-library/react";
import { expect, it, vi } from "vitest";

import { type Session, SessionProvider, useAccountZone, useSession } from "./session";

const session = { account: { email: "ada@example.com", time_zone: "Europe/Paris" } } as Session;

function Zone() {
  return <p>{useAccountZone() ?? "none"}</p>;
}

function Email() {
  return <p>{useSession().account.email}</p>;
}

it("provides the account and its time zone", () => {
  render(
    <SessionProvider session={session}>
      <Zone />
      <Email />
    </SessionProvider>,
  );
  expect(screen.getByText("Europe/Paris")).toBeTruthy();
  expect(screen.getByText("ada@example.com")).toBeTruthy();
});

it("has no time zone when signed out", () => {
  render(<Zone />);
  expect(screen.getByText("none")).toBeTruthy();
});

it("rejects the use of a session when signed out", () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  expect(() => render(<Email />)).toThrow("useSession");
});
