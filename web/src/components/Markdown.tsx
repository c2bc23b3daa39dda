import { Lexer, type Token, type Tokens } from "marked";
import { Fragment, type ReactNode, useMemo } from "react";

import { CopyButton } from "./CopyButton";
import { JsonBlock } from "./JsonBlock";
import { Redacted } from "./Redacted";
import classes from "./Markdown.module.css";

// Deeper nesting is shown as plain text.
const maxDepth = 16;

interface Props {
  text: string;
  /** Matches of this text are highlighted. */
  search?: string;
}

/**
 * Renders Markdown as React elements. HTML in the text is shown as text, images are never loaded, and only http, https and
 * mailto links become links.
 */
export function Markdown({ text, search = "" }: Props) {
  const tokens = useMemo(() => parseMarkdown(text), [text]);
  if (!tokens) {
    return (
      <div className={classes.markdown}>
        <p>
          <Redacted text={text} search={search} invisible />
        </p>
      </div>
    );
  }
  return <div className={classes.markdown}>{renderAll(tokens, { search, depth: 0 })}</div>;
}

// The parser takes quadratic time for emphasis marks and for nesting.
const maxMarks = 4000;
const deep = /^(?:[ \t]{0,3}>){30}|^[ \t]{80,}(?:[-*+]|\d+[.)]) /m;

/** Parses Markdown; undefined for text that would take too long, or if the parser fails. */
export function parseMarkdown(text: string): Token[] | undefined {
  let marks = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    marks += c === "_" || c === "*" || c === "~" ? 1 : 0;
  }
  if (marks > maxMarks || deep.test(text)) {
    return undefined;
  }
  try {
    return new Lexer({ gfm: true, breaks: false }).lex(text);
  } catch {
    return undefined;
  }
}

interface Context {
  search: string;
  depth: number;
}

function renderAll(tokens: Token[] | undefined, context: Context): ReactNode {
  return tokens?.map((token, i) => <Fragment key={i}>{render(token, context)}</Fragment>);
}

function render(token: Token, context: Context): ReactNode {
  if (context.depth > maxDepth) {
    return plain(token.raw, context);
  }
  const inner = { ...context, depth: context.depth + 1 };
  const children = () => renderAll((token as Tokens.Generic).tokens, inner);
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return (
        <p className={classes.heading} data-depth={(token as Tokens.Heading).depth}>
          {children()}
        </p>
      );
    case "paragraph":
      return <p>{children()}</p>;
    case "blockquote":
      return <blockquote>{children()}</blockquote>;
    case "code":
      return <Fence token={token as Tokens.Code} search={context.search} />;
    case "hr":
      return <hr />;
    case "list":
      return <MarkdownList token={token as Tokens.List} context={inner} />;
    case "table":
      return <MarkdownTable token={token as Tokens.Table} context={inner} />;
    case "checkbox":
      return (token as Tokens.Checkbox).checked ? "☑ " : "☐ ";
    case "strong":
      return <strong>{children()}</strong>;
    case "em":
      return <em>{children()}</em>;
    case "del":
      return <s>{children()}</s>;
    case "br":
      return <br />;
    case "codespan":
      return <code>{plain((token as Tokens.Codespan).text, context)}</code>;
    case "link":
      return <SafeLink token={token as Tokens.Link}>{children()}</SafeLink>;
    case "image":
      return plain(`[image: ${(token as Tokens.Image).text || (token as Tokens.Image).href}]`, context);
    case "escape":
      return plain((token as Tokens.Escape).text, context);
    case "text":
      return (token as Tokens.Text).tokens ? children() : plain((token as Tokens.Text).text, context);
    default: // HTML and anything unknown is shown as it was written
      return plain(token.raw, context);
  }
}

function plain(text: string, { search }: Context): ReactNode {
  return <Redacted text={text} search={search} invisible />;
}

/** Reports whether a link may be followed. */
export function isSafeLink(href: string): boolean {
  return /^(https?:\/\/|mailto:)/i.test(href.trim());
}

function SafeLink({ token, children }: { token: Tokens.Link; children: ReactNode }) {
  if (!isSafeLink(token.href)) {
    return <span title={token.href}>{children}</span>;
  }
  return (
    <a href={token.href} title={token.href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

function Fence({ token, search }: { token: Tokens.Code; search: string }) {
  const language = token.lang?.split(/\s/)[0] ?? "";
  return (
    <div className={classes.code}>
      <div className={classes.codeHead}>
        <span>{language || "code"}</span>
        <CopyButton text={token.text} compact />
      </div>
      {language === "json" ? (
        <JsonBlock text={token.text} search={search} />
      ) : (
        <pre tabIndex={0}>
          <Redacted text={token.text} search={search} invisible />
        </pre>
      )}
    </div>
  );
}

function MarkdownList({ token, context }: { token: Tokens.List; context: Context }) {
  const items = token.items.map((item, i) => (
    <li key={i}>
      {item.task && !item.tokens.some((part) => part.type === "checkbox") && (item.checked ? "☑ " : "☐ ")}
      {renderAll(item.tokens, context)}
    </li>
  ));
  return token.ordered ? <ol start={Number(token.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function MarkdownTable({ token, context }: { token: Tokens.Table; context: Context }) {
  return (
    <div className={classes.scroll} tabIndex={0} role="group" aria-label="Table in the message">
      <table className={classes.table}>
        <thead>
          <tr>
            {token.header.map((cell, i) => (
              <th key={i} scope="col">
                {renderAll(cell.tokens, context)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, i) => (
            <tr key={i}>
              {row.map((cell, j) => (
                <td key={j}>{renderAll(cell.tokens, context)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
