import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The root of the repository. */
export const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");

/** The binary under test: FAIRLEAD_TEST_BINARY, or bin/fairlead. */
export function binary(): string {
  const path = process.env["FAIRLEAD_TEST_BINARY"] ?? resolve(root, "bin/fairlead");
  if (!existsSync(path)) {
    throw new Error(`${path} does not exist; run \`make build\` first`);
  }
  return path;
}
