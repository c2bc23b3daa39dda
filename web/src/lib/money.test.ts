import { describe, expect, it } from "vitest";

import { formatMoney, formatPrice, nanoText, parseNano, sumMoney } from "./money";

describe("formatMoney", () => {
  it.each([
    ["0", "$0.00"],
    ["0.000000001", "$0.000000001"],
    ["-0.000000001", "−$0.000000001"],
    ["0.000123456", "$0.0001235"],
    ["0.00031", "$0.0003100"],
    ["0.04125", "$0.04125"],
    ["0.5", "$0.5000"],
    ["0.999949999", "$0.9999"],
    ["0.99995", "$1.00"],
    ["0.099995", "$0.1000"],
    ["1", "$1.00"],
    ["1.005", "$1.01"],
    ["-41.2", "−$41.20"],
    ["1234567", "$1,234,567.00"],
    ["9223372036.854775807", "$9,223,372,036.85"],
  ])("formats %s as %s", (amount, want) => {
    expect(formatMoney(amount)).toBe(want);
  });

  it("shows an unknown amount as a dash", () => {
    expect(formatMoney(null)).toBe("—");
    expect(formatMoney(undefined)).toBe("—");
    expect(formatPrice(null)).toBe("—");
  });

  it("never shows a non-zero amount as zero", () => {
    for (let digits = 1; digits <= 9; digits++) {
      const amount = `0.${"0".repeat(digits - 1)}1`;
      expect(formatMoney(amount)).toMatch(/[1-9]/);
    }
  });
});

describe("formatPaid", () => {
  it("shows a zero price as free", () => {
    expect(formatPrice("0")).toBe("free");
    expect(formatPrice("0.000000000")).toBe("free");
    expect(formatPrice("2.5")).toBe("$2.50");
  });
});

describe("sumMoney", () => {
  it("is exact to the last digit", () => {
    expect(sumMoney(["0.1", "0.2"])).toBe("0.3");
    expect(sumMoney(["9007199254.740993001", "0.000000001"])).toBe("9007199254.740993002");
    expect(sumMoney(["0.5", "-0.75"])).toBe("-0.25");
    expect(sumMoney([])).toBe("0");
  });
});

describe("parseNano", () => {
  it("parses the output of nanoText", () => {
    for (const text of ["0", "1", "0.000000001", "-12.5", "41.2"]) {
      expect(nanoText(parseNano(text))).toBe(text);
    }
  });

  it.each(["", ".", "1e3", "abc", "1,5"])("rejects %j", (text) => {
    expect(() => parseNano(text)).toThrow("not an amount");
  });
});
