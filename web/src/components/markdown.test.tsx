import { render } from "@testing-library/react";
import { MantineProvider } from "@mantine/core";
import { describe, expect, it } from "vitest";

import { isSafeLink, Markdown, parseMarkdown } from "./Markdown";

function html(text: string, search?: string): HTMLElement {
  return render(
    <MantineProvider>
      <Markdown text={text} search={search} />
    </MantineProvider>,
  ).container;
}

describe("Markdown", () => {
  it("renders headings, lists, code and tables", () => {
    const page = html(
      '# Title\n\nSome **bold** and `code`.\n\n3. three\n4. four\n   - inner\n\n- [x] done\n\n```json\n{"a": 1}\n```\n\n|a|b|\n|-|-|\n|1|2|\n',
    );
    expect(page.querySelector("[data-depth='1']")?.textContent).toBe("Title");
    expect(page.querySelector("strong")?.textContent).toBe("bold");
    expect(page.querySelector("ol")?.getAttribute("start")).toBe("3");
    expect(page.querySelector("ol ul li")?.textContent).toBe("inner");
    expect(page.textContent).toContain("☑ done");
    expect(page.querySelector("pre")?.textContent).toBe('{"a": 1}');
    expect(page.querySelectorAll("td")).toHaveLength(2);
    expect(page.querySelector("h1, h2, h3")).toBeNull(); // Markdown headings must not become headings of the page
  });

  it("shows HTML as text and loads no images", () => {
    const page = html(
      '<img src=x onerror="alert(1)"> and <script>alert(1)</script>\n\n![alt](https://example.com/a.png)',
    );
    expect(page.querySelector("img, script")).toBeNull();
    expect(page.textContent).toContain('<img src=x onerror="alert(1)">');
    expect(page.textContent).toContain("[image: alt]");
  });

  it("links to web addresses only", () => {
    const page = html("[good](https://example.com) [bad](javascript:alert(1)) [data](data:text/html,x)");
    const links = [...page.querySelectorAll("a")];
    expect(links.map((link) => link.getAttribute("href"))).toEqual(["https://example.com"]);
    expect(links[0]?.rel).toContain("noopener");
    expect(isSafeLink(" JAVASCRIPT:alert(1)")).toBe(false);
    expect(isSafeLink("mailto:a@example.com")).toBe(true);
    expect(isSafeLink("//example.com")).toBe(false);
  });

  it("highlights matches, redactions and invisible characters", () => {
    const page = html("find **me** [redacted: email] a\u200bb", "me");
    expect([...page.querySelectorAll("mark")].map((mark) => mark.textContent)).toEqual([
      "me",
      "[redacted: email]",
      "U+200B",
    ]);
  });

  it("survives extreme nesting", () => {
    const page = html(`${">".repeat(3000)} deep`);
    expect(page.textContent).toContain("deep");
  });

  it.each([
    ["emphasis marks", "_a".repeat(30_000)],
    ["quotes", "> ".repeat(30_000)],
    ["nested lists", Array.from({ length: 300 }, (_, i) => `${" ".repeat(2 * i)}- a`).join("\n")],
    ["brackets", "[".repeat(60_000)],
    ["tables", "|a|b|\n|-|-|\n".repeat(5_000)],
  ])("is fast for many %s", (_, text) => {
    const start = performance.now();
    parseMarkdown(text);
    expect(performance.now() - start).toBeLessThan(2000); // without the limits, some texts take more than ten seconds
  });
});
