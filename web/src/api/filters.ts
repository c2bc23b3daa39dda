// Generated from internal/requestlog by `make generate`. Do not edit.

/** The request filters, in the order of their chips. */
export const filterDefinitions = [
  { name: "preset", label: "preset", list: false, example: "" },
  { name: "decision", label: "decision", list: true, example: "" },
  { name: "outcome", label: "outcome", list: true, example: "" },
  { name: "status", label: "status", list: true, example: "429,502" },
  { name: "model", label: "model", list: true, example: "" },
  { name: "requested", label: "requested", list: true, example: "auto" },
  { name: "provider", label: "provider", list: true, example: "" },
  { name: "policy", label: "policy", list: true, example: "" },
  { name: "key", label: "key", list: true, example: "" },
  { name: "finish", label: "finish reason", list: true, example: "length" },
  { name: "session", label: "session", list: true, example: "session id" },
  { name: "user", label: "user", list: true, example: "end user" },
  { name: "stream", label: "stream", list: false, example: "" },
  { name: "simulated", label: "simulated", list: false, example: "" },
  { name: "min_cost", label: "cost ≥", list: false, example: "USD" },
  { name: "max_cost", label: "cost ≤", list: false, example: "USD" },
  { name: "min_latency", label: "latency ≥", list: false, example: "ms or 2s" },
  { name: "max_latency", label: "latency ≤", list: false, example: "ms or 2s" },
  { name: "min_saved", label: "saved ≥", list: false, example: "USD" },
  { name: "max_saved", label: "saved ≤", list: false, example: "USD" },
  { name: "tag", label: "tag", list: true, example: "team=search" },
  { name: "source", label: "source", list: false, example: "" },
  { name: "unpriced", label: "unpriced", list: false, example: "" },
  { name: "q", label: "search", list: false, example: "" },
] as const;
