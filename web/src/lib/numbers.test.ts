import { describe, expect, it, test } from "vitest";

import {
  formatBytes,
  formatQuality,
  formatChange,
  formatCount,
  formatDuration,
  formatLatency,
  formatMicros,
  formatPercent,
  formatWindow,
  plural,
} from "./numbers";

describe("number formats", () => {
  it("separate thousands and show an unknown value as a dash", () => {
    expect([0, 999, 1000, -1234567, null].map((n) => formatCount(n))).toEqual([
      "0",
      "999",
      "1,000",
      "−1,234,567",
      "—",
    ]);
    expect([plural(1, "model"), plural(1200, "model")]).toEqual(["1 model", "1,200 models"]);
  });

  it.each([
    [0, "0 ms"],
    [412, "412 ms"],
    [1840, "1,840 ms"],
    [12345, "12.3 s"],
    [185_000, "3 m 5 s"],
    [3_600_000 + 120_000, "1 h 2 m"],
    [null, "—"],
  ])("show %s ms as %s", (ms, want) => {
    expect(formatDuration(ms)).toBe(want);
  });

  it("never show a short time as zero", () => {
    expect(formatLatency(0)).toBe("< 1 ms");
    expect([formatMicros(57), formatMicros(12_400)]).toEqual(["57 µs", "12.4 ms"]);
  });

  it.each([
    [67.2, "−67 %"],
    [-12, "+12 %"],
    [0.3, "0 %"],
    [-0.3, "0 %"],
    [99.9, "−99.9 %"],
    [100, "−99.9 %"],
    [null, "—"],
  ])("show a saving of %s as a change in cost", (saved, want) => {
    expect(formatChange(saved)).toBe(want);
  });

  it("never show a small percentage as zero", () => {
    expect([0, 65.14, 0.04, -0.04, -3, null].map((p) => formatPercent(p))).toEqual([
      "0.0 %",
      "65.1 %",
      "< 0.1 %",
      "> −0.1 %",
      "−3.0 %",
      "—",
    ]);
  });

  it("shorten context windows and bytes", () => {
    expect([null, 8192, 128_000, 1_000_000, 1_047_576].map((n) => formatWindow(n))).toEqual([
      "—",
      "8,192",
      "128K",
      "1M",
      "1M",
    ]);
    expect([812, 4200, 1_300_000_000].map((n) => formatBytes(n))).toEqual(["812 B", "4.2 KB", "1.3 GB"]);
  });
});

test.each([
  [0.5, "0.50"],
  [0.9949, "0.99"],
  [0.998, "> 0.99"],
  [1, "1.00"],
  [0.003, "< 0.01"],
  [0, "0.00"],
  [null, "—"],
])("formatChance(%s)", (quality, expected) => {
  expect(formatQuality(quality)).toBe(expected);
});
