import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

import { root } from "./binary";

const run = promisify(execFile);

/** The user of Dex, as in test/external/sso/dex.go. */
export const ann = { login: "ann", password: "password-of-ann", email: "ann@example.com" };

/** Dex, a real identity provider, built from the module test/external. */
export class Dex {
  private constructor(
    private readonly dir: string,
    private readonly process: ChildProcess,
    readonly issuer: string,
  ) {}

  /** Starts Dex with the groups of the person. */
  static async start(callback: string, ...groups: string[]): Promise<Dex> {
    const dir = await mkdtemp(join(tmpdir(), "fairlead-dex-"));
    const program = join(dir, "dex");
    await run("go", ["build", "-o", program, "./sso/dex"], { cwd: join(root, "test/external"), env: { ...process.env, CGO_ENABLED: "0", GOWORK: "off" } });
    const child = spawn(program, [callback, ...groups], { stdio: ["pipe", "pipe", "inherit"] });
    const issuer = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout }).once("line", resolve);
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`dex exited with ${code}`)));
    });
    return new Dex(dir, child, issuer);
  }

  /** The section of the configuration file that uses this provider. */
  config(): string {
    return `sso:
  name: Dex
  issuer: ${this.issuer}
  client_id: fairlead
  client_secret: canary-dex-client-secret
  scopes: [openid, email, profile, groups, offline_access]
  groups:
    - {name: platform, workspace: operator, role: developer}
`;
  }

  async stop(): Promise<void> {
    this.process.stdin?.end();
    await rm(this.dir, { recursive: true, force: true });
  }
}
