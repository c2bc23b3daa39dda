import { nanoText, parseNano } from "../../lib/money";
import { runsOf, type Turn } from "./draft";
import { isRunning, type Run } from "./run";

/** Maximum number of responses per column that one click requests. */
export const maxRepeats = 10;

/** Mean and standard deviation of a figure. */
export interface Spread {
  count: number;
  mean: number;
  /** Standard deviation of the sample; null for a single value. */
  deviation: number | null;
}

/** Computes mean and standard deviation; undefined without values. */
export function spreadOf(values: number[]): Spread | undefined {
  const count = values.length;
  if (count === 0) {
    return undefined;
  }
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { count, mean, deviation: count > 1 ? Math.sqrt(squares / (count - 1)) : null };
}

/** The costs of finished runs in dollars. Runs with an unknown cost are skipped. */
export function costsOf(runs: Run[]): number[] {
  return runs.flatMap((run) => (!isRunning(run) && run.facts.cost != null ? [Number(run.facts.cost)] : []));
}

/** The times of complete responses in milliseconds. Failed and stopped runs are skipped. */
export function timesOf(runs: Run[]): number[] {
  return runs.flatMap((run) => (run.state === "done" && run.totalMs !== undefined ? [run.totalMs] : []));
}

/**
 * The ratio of a column's figure to the baseline's, from the prompts that both columns have answered. Each prompt counts
 * with its mean, so that columns with different numbers of responses can be compared. Undefined if a figure is unknown or the
 * baseline's is zero.
 */
export function ratioOf(
  turns: Turn[],
  column: string,
  baseline: string,
  figure: (runs: Run[]) => number[],
): number | undefined {
  let [own, other] = [0, 0];
  let common = 0;
  for (const turn of turns) {
    const a = spreadOf(figure(runsOf(turn, column)));
    const b = spreadOf(figure(runsOf(turn, baseline)));
    if (a && b) {
      own += a.mean;
      other += b.mean;
      common++;
    }
  }
  return common > 0 && other > 0 ? own / other : undefined;
}

/** Formats a ratio: ×0.32, ×1.0, ×14. */
export function formatRatio(ratio: number | undefined): string {
  if (ratio === undefined) {
    return "—";
  }
  const digits = ratio === 0 || ratio >= 9.95 ? 0 : ratio >= 0.995 ? 1 : 2;
  const text = ratio.toFixed(digits);
  return ratio > 0 && Number(text) === 0 ? "<×0.01" : `×${text}`;
}

/** Converts dollars to a decimal string, the form in which other functions accept amounts. */
export function dollarText(dollars: number): string {
  return nanoText(BigInt(Math.round(dollars * 1e9)));
}

/** Multiplies an amount exactly; null if it is unknown. */
export function timesAmount(amount: string | null, count: number): string | null {
  return amount === null ? null : nanoText(parseNano(amount) * BigInt(count));
}
