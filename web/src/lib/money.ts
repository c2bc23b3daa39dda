// Amounts are decimal strings of dollars with at most nine decimals. Sums use integers, never floating point, so they are
// exact to the last digit.

const nanoDigits = 9;
const dollar = 10n ** BigInt(nanoDigits);

/** Shown for an unknown value, which is never shown as zero. */
export const unknown = "—";

/** Parses a decimal string of dollars into nano-dollars. */
export function parseNano(text: string): bigint {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?$/.exec(text.trim());
  if (!match || (!match[2] && !match[3])) {
    throw new Error(`not an amount: ${text}`);
  }
  const decimals = (match[3] ?? "").slice(0, nanoDigits).padEnd(nanoDigits, "0");
  const nano = BigInt(match[2] || "0") * dollar + BigInt(decimals);
  return match[1] === "-" ? -nano : nano;
}

/**
 * Formats an amount: two decimals from one dollar on, otherwise four significant digits, so that a non-zero amount
 * never reads $0.00.
 */
export function formatMoney(text: string | null | undefined): string {
  return text == null ? unknown : formatNano(parseNano(text));
}

/** Formats a price or cost; zero is "free". */
export function formatPrice(text: string | null | undefined): string {
  return text != null && parseNano(text) === 0n ? "free" : formatMoney(text);
}

function formatNano(amount: bigint): string {
  const sign = amount < 0n ? "−" : "";
  let n = amount < 0n ? -amount : amount;
  if (n === 0n) {
    return "$0.00";
  }
  if (n < dollar) {
    let unit = 1n; // value of the fourth significant digit
    while (n / unit >= 10_000n) {
      unit *= 10n;
    }
    n = ((n + unit / 2n) / unit) * unit;
  }
  if (n >= dollar) {
    const cents = (n + dollar / 200n) / (dollar / 100n);
    return `${sign}$${(cents / 100n).toLocaleString("en-US")}.${String(cents % 100n).padStart(2, "0")}`;
  }
  const zeros = nanoDigits - String(n).length; // number of zeros between the decimal point and the first digit
  const decimals = Math.min(nanoDigits, 4 + zeros);
  return `${sign}$0.${String(n).padStart(nanoDigits, "0").slice(0, decimals)}`;
}

/** Adds decimal strings exactly. */
export function sumMoney(amounts: string[]): string {
  return nanoText(amounts.reduce((sum, text) => sum + parseNano(text), 0n));
}

/** Formats nano-dollars as a decimal string without trailing zeros. */
export function nanoText(nano: bigint): string {
  const n = nano < 0n ? -nano : nano;
  const decimals = String(n % dollar)
    .padStart(nanoDigits, "0")
    .replace(/0+$/, "");
  return `${nano < 0n ? "-" : ""}${n / dollar}${decimals ? "." + decimals : ""}`;
}
