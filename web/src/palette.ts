// Colours of charts. palette.test.ts checks their contrast, and that people with a colour vision deficiency can tell
// the colours of one chart apart. Charts use patterns and dashes in addition.

/** The meaning of a chart colour. */
export type ChartColour =
  "spend" | "baseline" | "saved" | "extra" | "expected" | "fallback" | "policy" | "requests" | "error";

/** The colours by colour scheme. They are CSS variables with the prefix --fl-. */
export const palette: Record<"light" | "dark", Record<ChartColour, string>> = {
  light: {
    spend: "#0f578a",
    baseline: "#22262a",
    saved: "#08a087",
    extra: "#b33319",
    expected: "#818c98",
    fallback: "#a63c06",
    policy: "#4527a0",
    requests: "#4a93b8",
    error: "#5c0f22",
  },
  dark: {
    spend: "#55a6f6",
    baseline: "#75808a",
    saved: "#7de8cd",
    extra: "#f42525",
    expected: "#73808c",
    fallback: "#fa9338",
    policy: "#c9baf7",
    requests: "#4d86a8",
    error: "#ffc2cc",
  },
};

/** Colours that appear in one chart. */
export const charts: Record<string, ChartColour[]> = {
  "spend vs baseline": ["spend", "baseline", "saved", "extra"],
  "decisions over time": ["expected", "fallback", "policy"],
  "volume of requests": ["requests", "fallback", "error"],
};
