import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

import { binary } from "./binary";
import { eventually } from "./client";

const run = promisify(execFile);

/** Options of a gateway. Without options it uses the simulator. */
export interface GatewayOptions {
  /** Text of the configuration file. */
  config?: string;
  /** More arguments of serve. */
  args?: string[];
}

/** A gateway process with a new data directory. */
export class Gateway {
  private constructor(
    private readonly home: string,
    private readonly options: GatewayOptions,
    private process: ChildProcess,
    private readonly lines: string[],
    /** The base URL, such as http://127.0.0.1:41234. */
    readonly url: string,
  ) {}

  /** Starts a gateway and waits until it serves. */
  static async start(options: GatewayOptions = {}): Promise<Gateway> {
    const home = await mkdtemp(join(tmpdir(), "fairlead-browser-"));
    if (options.config) {
      await writeFile(configPath(home), options.config);
    }
    const lines: string[] = [];
    const { child, address } = await serve(home, options, "127.0.0.1:0", lines);
    return new Gateway(home, options, child, lines, `http://${address}`);
  }

  /** Replaces the configuration file atomically; the gateway reloads it. */
  async setConfig(text: string): Promise<void> {
    await writeFile(`${configPath(this.home)}.next`, text);
    await rename(`${configPath(this.home)}.next`, configPath(this.home));
  }

  /** Path of the configuration file. */
  get config(): string {
    return configPath(this.home);
  }

  /** Runs another command on the same data and returns its output. */
  async command(...args: string[]): Promise<string> {
    const { stdout } = await run(binary(), [...args, ...flags(this.home, this.options)], {
      cwd: this.home,
      env: environment(this.home),
    });
    return stdout;
  }

  /** Stops the gateway gracefully, runs work on its data directory, and restarts it at the same address. */
  async whileStopped(work: (dataDir: string) => Promise<void>): Promise<void> {
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill("SIGTERM");
    await ended;
    await work(join(this.home, "data"));
    this.process = (await serve(this.home, this.options, new URL(this.url).host, this.lines)).child;
  }

  /** The setup code from the link that the gateway printed. */
  async setupCode(): Promise<string> {
    let code: string | undefined;
    await eventually("the setup code is printed", async () => {
      code = this.lines.map((line) => /welcome#([0-9A-Z-]+)/.exec(line)?.[1]).findLast(Boolean);
      return code !== undefined;
    });
    return code ?? "";
  }

  /** The last lines of output, for a failed test. */
  log(): string {
    return this.lines.slice(-100).join("\n");
  }

  /** Ends the process and removes its files. */
  async stop(): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      const ended = new Promise((resolve) => this.process.once("exit", resolve));
      this.process.kill("SIGKILL"); // no graceful stop needed, the data is deleted
      await ended;
    }
    await rm(this.home, { recursive: true, force: true });
  }
}

/** Starts the process and waits until it serves. */
async function serve(home: string, options: GatewayOptions, listen: string, lines: string[]): Promise<{ child: ChildProcess; address: string }> {
  const args = ["serve", "--listen", listen, ...flags(home, options), ...(options.args ?? [])];
  const child = spawn(binary(), args, { cwd: home, env: environment(home), stdio: ["ignore", "pipe", "pipe"] });
  const address = await new Promise<string>((resolve, reject) => {
    const onLine = (line: string) => {
      lines.push(line);
      const found = listening(line);
      if (found) {
        resolve(found);
      }
    };
    createInterface({ input: child.stderr }).on("line", onLine);
    createInterface({ input: child.stdout }).on("line", onLine);
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the gateway exited with ${code} before it was ready:\n${lines.join("\n")}`)));
  });
  return { child, address };
}

function configPath(home: string): string {
  return join(home, "fairlead.yaml");
}

function flags(home: string, options: GatewayOptions): string[] {
  return ["--data-dir", join(home, "data"), ...(options.config ? ["--config", configPath(home)] : [])];
}

/** A minimal environment without provider keys or settings. */
function environment(home: string): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], HOME: home, TMPDIR: tmpdir(), FAIRLEAD_DETECT: "false" };
}

function listening(line: string): string | undefined {
  try {
    const entry = JSON.parse(line) as { msg?: string; listen?: string };
    return entry.msg === "ready" ? entry.listen : undefined;
  } catch {
    return undefined;
  }
}
