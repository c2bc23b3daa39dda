import { expect, test } from "vitest";

import { passkeyProblem } from "./passkeySite";

const origin = "https://models.example.com";
const browser = { secure: true, supported: true, origin };

test.each([
  [{ available: true, origin }, browser, undefined],
  [{ available: true, origin }, { ...browser, supported: false }, "does not support passkeys"],
  [{ available: true, origin }, { ...browser, origin: "http://10.0.0.1:8080" }, `only at ${origin}`],
  [{ available: true, origin }, { ...browser, secure: false }, "loaded without it"],
  [{ available: false, origin: "", reason: "no_public_url" as const }, browser, "public_url"],
  [{ available: false, origin, reason: "not_https" as const }, browser, "need HTTPS"],
  [{ available: false, origin, reason: "ip_address" as const }, browser, "IP address"],
])("problem of %j in %j", (site, where, want) => {
  const problem = passkeyProblem(site, where);
  if (want === undefined) {
    expect(problem).toBeUndefined();
  } else {
    expect(problem).toContain(want);
  }
});
