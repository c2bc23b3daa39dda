import type { Schema } from "../../api/client";
import { plural } from "../../lib/numbers";

/** A vendor in the gallery. */
export type Vendor = Schema["VendorView"];
/** The result of a connection. */
export type Connection = Schema["ConnectionView"];

/** The wire format of a custom endpoint. */
export type Format = "chat" | "responses" | "messages" | "gemini";

/** The name under which the gallery lists an endpoint of an unknown vendor. */
export const customVendor = "custom";

/** Formats of a custom endpoint. */
export const formats: { value: Format; label: string }[] = [
  { value: "chat", label: "OpenAI chat completions" },
  { value: "responses", label: "OpenAI responses" },
  { value: "messages", label: "Anthropic messages" },
  { value: "gemini", label: "Google Gemini" },
];

/** Input of the form. */
export interface ConnectDraft {
  name: string;
  key: string;
  baseUrl: string;
  format: Format;
  options: Record<string, string>;
  free: boolean;
  allowLoopback: boolean;
}

/** Filters the vendors by label or name. The custom endpoint always remains. */
export function searchVendors(vendors: Vendor[], text: string): Vendor[] {
  const words = text.trim().toLowerCase();
  return vendors.filter(
    ({ name, label }) =>
      name === customVendor || label.toLowerCase().includes(words) || name.toLowerCase().includes(words),
  );
}

/** The initial form. A server on this machine gets its usual address. The name is the name of the vendor, or the next unused name if a provider has this name. */
export function emptyDraft(vendor: Vendor, taken: string[]): ConnectDraft {
  const local = !vendor.needs_key && vendor.name !== customVendor;
  return {
    name: vendor.name === customVendor ? "" : freeName(vendor.name, taken),
    key: "",
    baseUrl: (local && vendor.base_url) || "",
    format: "chat",
    options: {},
    free: false,
    allowLoopback: false,
  };
}

/** Reports whether an address is on the gateway's own machine. */
export function isLoopback(address: string): boolean {
  return /^https?:\/\/(localhost|127(\.\d+){3}|\[::1\])(:\d+)?(\/|$)/i.test(address.trim());
}

/** The first unused name of openai, openai-2, … */
export function freeName(name: string, taken: string[]): string {
  for (let n = 1; ; n++) {
    const next = n === 1 ? name : `${name}-${n}`;
    if (!taken.includes(next)) {
      return next;
    }
  }
}

/** Reports whether all required fields are filled in. */
export function isComplete(vendor: Vendor, draft: ConnectDraft): boolean {
  return (
    draft.name.trim() !== "" &&
    (!vendor.needs_key || draft.key.trim() !== "") &&
    (!vendor.needs_base_url || draft.baseUrl.trim() !== "") &&
    vendor.fields.every((field) => !field.required || (draft.options[field.name] ?? "").trim() !== "")
  );
}

/** The body of connect-provider. Empty fields are omitted. */
export function connectBody(vendor: Vendor, draft: ConnectDraft, test: boolean) {
  const options = Object.fromEntries(
    Object.entries(draft.options)
      .map(([name, value]) => [name, value.trim()])
      .filter(([, value]) => value !== ""),
  ) as Record<string, string>;
  const custom = vendor.name === customVendor;
  return {
    vendor: vendor.name,
    name: draft.name.trim(),
    ...(draft.key.trim() && { key: draft.key.trim() }),
    ...(draft.baseUrl.trim() && { base_url: draft.baseUrl.trim() }),
    ...(Object.keys(options).length > 0 && { options }),
    ...(custom && { format: draft.format, free: draft.free }),
    ...(draft.allowLoopback && isLoopback(draft.baseUrl) && { allow_loopback: true }),
    test,
  };
}

/** Describes the result of a connection in one or two sentences. */
export function foundText({ test, found }: Connection): string {
  const priced = found.filter((m) => m.price != null).length;
  if (!test) {
    return "Connected without a test.";
  }
  if (!test.tested) {
    return `${test.error ?? "Not tested."} The catalog has ${plural(priced, "model")} with a price.`;
  }
  if (found.length === 0) {
    return "The test call succeeded, but the provider lists no models.";
  }
  return `Found ${plural(found.length, "model")}, ${priced === found.length ? "all" : priced} with a price.`;
}

/** What to do about models without a price; null if all have one. */
export function unpricedText({ found }: Connection): string | null {
  const count = found.filter((m) => m.price == null).length;
  if (count === 0) {
    return null;
  }
  return `${plural(count, "model")} without a price: auto uses a model only after you set its price.`;
}
