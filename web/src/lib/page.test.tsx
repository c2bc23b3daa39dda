import { expect, test } from "vitest";

import { pageMeta } from "./page";

test.each([
  ["a value of the gateway", '<meta name="fairlead-nonce" content="N1">', "N1"],
  ["the placeholder of a development build", '<meta name="fairlead-nonce" content="__NONCE__">', ""],
  ["a missing element", "", ""],
])("%s", (_, head, expected) => {
  document.head.innerHTML = head;
  expect(pageMeta("nonce")).toBe(expected);
});
