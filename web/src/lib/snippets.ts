import { shellQuote } from "./filters";

/** The snippet languages, in the order of the tabs. */
export const languages = [
  { id: "curl", label: "curl" },
  { id: "python", label: "Python" },
  { id: "node", label: "Node" },
  { id: "go", label: "Go" },
] as const;

/** One of the languages. */
export type Language = (typeof languages)[number]["id"];

/** The call that a snippet makes. */
export interface Call {
  /** Ends in /proxy/v1. */
  baseUrl: string;
  /** The API key; without one the snippet reads $FAIRLEAD_API_KEY. */
  key?: string;
  /** chat/completions or embeddings. */
  endpoint: string;
  /** The body as it would be sent. */
  body: unknown;
}

/** Request body of the quickstart snippets and the key test. */
export const exampleBody = {
  model: "auto",
  messages: [{ role: "user", content: "Say hello in one short sentence." }],
};

/** The base URL of the gateway's model API. */
export function baseUrlOf(publicUrl: string): string {
  return `${(publicUrl || location.origin).replace(/\/+$/, "")}/proxy/v1`;
}

/** Writes a call as code in a language. */
export function snippet(language: Language, call: Call): string {
  return { curl, python, node, go }[language](call);
}

/** The environment variables that most OpenAI clients read. */
export function environment(call: Pick<Call, "baseUrl" | "key">): string {
  return [
    `export OPENAI_BASE_URL=${shellQuote(call.baseUrl)}`,
    `export OPENAI_API_KEY=${call.key ? shellQuote(call.key) : '"$FAIRLEAD_API_KEY"'}`,
  ].join("\n");
}

function curl({ baseUrl, key, endpoint, body }: Call): string {
  return [
    `curl ${shellQuote(`${baseUrl}/${endpoint}`)} \\`,
    `  -H "Authorization: Bearer ${key ?? "$FAIRLEAD_API_KEY"}" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d ${alwaysQuote(JSON.stringify(body))}`,
  ].join("\n");
}

function alwaysQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function python({ baseUrl, key, endpoint, body }: Call): string {
  const method = endpoint === "embeddings" ? "embeddings.create" : "chat.completions.create";
  const args = pythonLiteral(body, 0).slice(1, -1).trim();
  return [
    ...(key ? [] : ["import os"]),
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url=${JSON.stringify(baseUrl)}, api_key=${key ? JSON.stringify(key) : 'os.environ["FAIRLEAD_API_KEY"]'})`,
    `response = client.${method}(**{`,
    `    ${args}`,
    "})",
    endpoint === "embeddings"
      ? "print(len(response.data[0].embedding))"
      : "print(response.choices[0].message.content)",
  ].join("\n");
}

/** Writes a value as a Python literal: like JSON, with True, False and None. */
function pythonLiteral(value: unknown, depth: number): string {
  const pad = "    ".repeat(depth + 1);
  const end = "    ".repeat(depth);
  if (value === null || value === undefined) {
    return "None";
  }
  if (typeof value === "boolean") {
    return value ? "True" : "False";
  }
  if (Array.isArray(value)) {
    return value.length === 0
      ? "[]"
      : `[\n${value.map((v) => pad + pythonLiteral(v, depth + 1)).join(",\n")},\n${end}]`;
  }
  if (typeof value === "object") {
    const rows = Object.entries(value).map(
      ([name, v]) => `${pad}${JSON.stringify(name)}: ${pythonLiteral(v, depth + 1)}`,
    );
    return rows.length === 0 ? "{}" : `{\n${rows.join(",\n")},\n${end}}`;
  }
  return JSON.stringify(value);
}

function node({ baseUrl, key, endpoint, body }: Call): string {
  const method = endpoint === "embeddings" ? "embeddings.create" : "chat.completions.create";
  return [
    'import OpenAI from "openai";',
    "",
    "const client = new OpenAI({",
    `  baseURL: ${JSON.stringify(baseUrl)},`,
    `  apiKey: ${key ? JSON.stringify(key) : "process.env.FAIRLEAD_API_KEY"},`,
    "});",
    `const response = await client.${method}(${JSON.stringify(body, null, 2)});`,
    endpoint === "embeddings"
      ? "console.log(response.data[0].embedding.length);"
      : "console.log(response.choices[0].message.content);",
  ].join("\n");
}

function go({ baseUrl, key, endpoint, body }: Call): string {
  const text = JSON.stringify(body, null, 2);
  const literal = text.includes("`") ? JSON.stringify(text) : "`" + text + "`";
  return [
    "package main",
    "",
    "import (",
    ['"fmt"', '"io"', '"net/http"', ...(key ? [] : ['"os"']), '"strings"']
      .map((name) => `\t${name}`)
      .join("\n"),
    ")",
    "",
    "func main() {",
    `\tbody := ${literal}`,
    `\treq, err := http.NewRequest("POST", ${JSON.stringify(`${baseUrl}/${endpoint}`)}, strings.NewReader(body))`,
    "\tif err != nil {",
    "\t\tpanic(err)",
    "\t}",
    `\treq.Header.Set("Authorization", "Bearer "+${key ? JSON.stringify(key) : 'os.Getenv("FAIRLEAD_API_KEY")'})`,
    '\treq.Header.Set("Content-Type", "application/json")',
    "\tresp, err := http.DefaultClient.Do(req)",
    "\tif err != nil {",
    "\t\tpanic(err)",
    "\t}",
    "\tdefer resp.Body.Close()",
    "\tresponse, err := io.ReadAll(resp.Body)",
    "\tif err != nil {",
    "\t\tpanic(err)",
    "\t}",
    "\tfmt.Println(resp.Status, string(response))",
    "}",
  ].join("\n");
}
