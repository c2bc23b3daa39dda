import type { Schema } from "../api/client";

/** Where passkeys can be used, as the gateway reports it. */
type Site = Schema["PasskeySite"];

/** Properties of the browser that passkeys depend on. */
export interface Browser {
  secure: boolean;
  supported: boolean;
  origin: string;
}

/** The properties of this browser. */
export function thisBrowser(): Browser {
  const supported =
    typeof PublicKeyCredential !== "undefined" &&
    typeof PublicKeyCredential.parseRequestOptionsFromJSON === "function";
  return { secure: window.isSecureContext, supported, origin: location.origin };
}

/** Why passkeys cannot be used on this page; undefined if they can. */
export function passkeyProblem(site: Site, browser: Browser = thisBrowser()): string | undefined {
  switch (site.reason) {
    case "no_public_url":
      return "Passkeys need the gateway’s address: the operator must set public_url to its https:// address.";
    case "not_https":
      return "Passkeys need HTTPS: the operator must set public_url to an https:// address.";
    case "ip_address":
      return "Passkeys need a host name: public_url contains an IP address.";
    default:
  }
  if (browser.origin !== site.origin) {
    return `Passkeys work only at ${site.origin}. Open the dashboard there.`;
  }
  if (!browser.secure) {
    return "Passkeys need HTTPS. This page was loaded without it.";
  }
  return browser.supported ? undefined : "This browser does not support passkeys. Update it to use them.";
}
