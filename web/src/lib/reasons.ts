const words: Record<string, string> = {
  connect: "it could not be reached",
  timeout: "it did not answer in time",
  rate_limit: "its rate limit is used up (429)",
  overload: "it is overloaded (503)",
  server_error: "it failed by itself (5xx)",
  credential: "it refuses our credential",
  unknown_model: "it does not have the model",
  malformed: "its answers could not be read",
  cut: "its answers broke off",
};

/** Writes the class of failure that opened a circuit or tired a credential as people read it. */
export function reasonText(reason: string | null | undefined): string | undefined {
  return reason ? (words[reason] ?? reason) : undefined;
}
