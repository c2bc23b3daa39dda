import { describe, expect, it } from "vitest";

import { baseUrlOf, environment, exampleBody, languages, snippet } from "./snippets";

const call = { baseUrl: "http://127.0.0.1:8080/proxy/v1", endpoint: "chat/completions", body: exampleBody };

describe("snippets", () => {
  it("contain a key that was just created", () => {
    for (const { id } of languages) {
      const text = snippet(id, { ...call, key: "fl_abc" });
      expect(text).toContain("fl_abc");
      expect(text).not.toContain("FAIRLEAD_API_KEY");
    }
  });

  it("read the key from the environment otherwise", () => {
    for (const { id } of languages) {
      expect(snippet(id, call)).toContain("FAIRLEAD_API_KEY");
    }
    expect(environment(call)).toContain('OPENAI_API_KEY="$FAIRLEAD_API_KEY"');
  });

  it("escape quotes in the prompt", () => {
    const body = { model: "auto", messages: [{ role: "user", content: 'it\'s `fine` "so" $HOME' }] };
    expect(snippet("curl", { ...call, body })).toContain(`it'\\''s`);
    expect(snippet("go", { ...call, body })).not.toContain("body := `");
  });

  it("use Python literals where they differ from JSON", () => {
    const text = snippet("python", { ...call, body: { model: "auto", stream: true, stop: null } });
    expect(text).toContain('"stream": True');
    expect(text).toContain('"stop": None');
  });

  it("use the public URL", () => {
    expect(baseUrlOf("https://gw.example.com/")).toBe("https://gw.example.com/proxy/v1");
    expect(baseUrlOf("")).toBe(`${location.origin}/proxy/v1`);
  });

  it.each(["python", "node"] as const)("call the embeddings API in %s", (language) => {
    const body = { model: "auto", input: ["a"], user: {}, tags: [] };
    const text = snippet(language, { ...call, endpoint: "embeddings", body });
    expect(text).toContain("embeddings.create");
    expect(text).toContain("embedding");
    expect(text).not.toContain("choices");
  });

  it("import os in Go only to read the key from the environment", () => {
    expect(snippet("go", call)).toContain('"os"');
    expect(snippet("go", { ...call, key: "fl_abc" })).not.toContain('"os"');
  });
});
