import { shellQuote } from "./filters";

/** The coding agents that `fairlead connect` knows, by their name in the command. */
export const agents = [
  { value: "claude-code", label: "Claude Code" },
  { value: "codex", label: "Codex" },
  { value: "gemini-cli", label: "Gemini CLI" },
  { value: "opencode", label: "opencode" },
  { value: "aider", label: "aider" },
  { value: "cline", label: "Cline" },
  { value: "qwen-code", label: "Qwen Code" },
  { value: "goose", label: "goose" },
  { value: "copilot", label: "Copilot CLI" },
  { value: "pi", label: "pi" },
  { value: "continue", label: "Continue" },
  { value: "crush", label: "crush" },
];

/** The command that connects an agent. On the gateway's machine it needs no key. */
export function connectCommand(agent: string, baseUrl: string, key?: string): string {
  const server = baseUrl.replace(/\/proxy\/v1$/, "");
  const command = `fairlead connect ${agent}`;
  if (server === "http://127.0.0.1:8080") {
    return command;
  }
  const local = ["127.0.0.1", "localhost", "[::1]"].includes(new URL(server).hostname);
  return `${local ? "" : `FAIRLEAD_API_KEY=${key ?? "fl_…"} `}${command} --server ${shellQuote(server)}`;
}
