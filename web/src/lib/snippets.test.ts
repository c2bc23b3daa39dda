import { describe, expect, it } from "vitest";

import { baseUrlOf, environment, firstBody, languages, snippet } from "./snippets";

const call = { baseUrl: "http://127.0.0.1:8080/proxy/v1", endpoint: "chat/completions", body: firstBody };

describe("snippets", () => {
  it("hold the key where one was just made", () => {
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

  it("survive quotes of every kind in the text", () => {
    const body = { model: "auto", messages: [{ role: "user", content: 'it\'s `fine` "so" $HOME' }] };
    expect(snippet("curl", { ...call, body })).toContain(`it'\\''s`);
    expect(snippet("go", { ...call, body })).not.toContain("body := `");
  });

  it("speak Python where JSON differs", () => {
    const text = snippet("python", { ...call, body: { model: "auto", stream: true, stop: null } });
    expect(text).toContain('"stream": True');
    expect(text).toContain('"stop": None');
  });

  it("name the address that clients use", () => {
    expect(baseUrlOf("https://gw.example.com/")).toBe("https://gw.example.com/proxy/v1");
    expect(baseUrlOf("")).toBe(`${location.origin}/proxy/v1`);
  });
});
