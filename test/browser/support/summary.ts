import { relative } from "node:path";

import type { FullResult, Reporter, Suite, TestCase } from "@playwright/test/reporter";

import { root } from "./binary";

/** Prints one line per failed test at the end of the output, where it is found in a long CI log. */
export default class Summary implements Reporter {
  private suite: Suite | undefined;

  onBegin(_: unknown, suite: Suite): void {
    this.suite = suite;
  }

  onEnd(_: FullResult): void {
    for (const test of this.suite?.allTests().filter((test) => test.outcome() === "unexpected") ?? []) {
      console.log(`FAILED ${describe(test)}`);
    }
  }
}

function describe(test: TestCase): string {
  const error = test.results.at(-1)?.errors[0];
  const at = error?.location ?? test.location;
  // eslint-disable-next-line no-control-regex -- messages contain terminal colours
  const message = (error?.message ?? "unknown error").replace(/\u001b\[[0-9;]*m/g, "");
  const lines = message.split("\n").map((line) => line.trim()).filter(Boolean).slice(0, 8);
  return `${relative(root, at.file)}:${at.line} "${test.title}" (${test.parent.project()?.name}): ${lines.join(" | ").slice(0, 600)}`;
}
