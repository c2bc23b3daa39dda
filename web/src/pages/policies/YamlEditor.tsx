import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, type Text } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
  placeholder,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { type Ref, useEffect, useImperativeHandle, useRef } from "react";

import type { Schema } from "../../api/client";
import { pageMeta } from "../../lib/page";
import { suggest } from "./completion";
import classes from "./policies.module.css";

/** Imperative actions of the editor. */
export interface EditorHandle {
  /** Moves the cursor to a line and column, both from 1. */
  goTo: (line: number, column: number) => void;
}

interface Props {
  value: string;
  onChange: (value: string) => void;
  problems: Schema["PolicyProblem"][];
  readOnly: boolean;
  /** Names for completion. */
  policySet: Pick<Schema["PolicyBook"], "fields" | "names">;
  handle?: Ref<EditorHandle>;
}

/** A YAML editor for policies with highlighting, completion and diagnostics. Loaded lazily. */
export default function YamlEditor({ value, onChange, problems, readOnly, policySet, handle }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef({ value, onChange, policySet });
  const readOnlyCompartment = useRef(new Compartment());
  useEffect(() => {
    latest.current = { value, onChange, policySet };
  });
  useEffect(() => {
    const created = new EditorView({
      parent: box.current ?? undefined,
      state: EditorState.create({
        doc: value,
        extensions: [
          basics,
          readOnlyCompartment.current.of(readOnlyExtensions(readOnly)),
          EditorView.domEventHandlers({ beforeinput: typeOver }),
          EditorView.updateListener.of((update) => {
            const text = update.state.doc.toString();
            // A value set by the page is not an edit.
            if (update.docChanged && text !== latest.current.value) {
              latest.current.onChange(text);
            }
          }),
          autocompletion({
            override: [
              ({ state, pos, explicit }) => {
                const line = state.doc.lineAt(pos);
                const above = linesAbove(state.doc, line.number);
                const found = suggest(line.text.slice(0, pos - line.from), above, latest.current.policySet);
                if (!found || (!explicit && found.from === pos - line.from)) {
                  return null;
                }
                return { from: line.from + found.from, options: found.list };
              },
            ],
          }),
        ],
      }),
    });
    view.current = created;
    return () => created.destroy();
    // The editor is created once; later changes are dispatched below.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, []);
  useEffect(() => {
    const doc = view.current?.state.doc;
    if (doc && doc.toString() !== value) {
      view.current?.dispatch({ changes: { from: 0, to: doc.length, insert: value } });
    }
  }, [value]);
  useEffect(() => {
    view.current?.dispatch({
      effects: readOnlyCompartment.current.reconfigure(readOnlyExtensions(readOnly)),
    });
  }, [readOnly]);
  useEffect(() => {
    const editor = view.current;
    editor?.dispatch(
      setDiagnostics(
        editor.state,
        problems.map((problem) => ({
          ...spanOf(editor.state.doc, problem),
          severity: "error",
          message: diagnosticText(problem),
        })),
      ),
    );
  }, [problems]);
  useImperativeHandle(handle, () => ({
    goTo: (line, column) => {
      const editor = view.current;
      if (editor) {
        const { from } = spanOf(editor.state.doc, { line, column, width: 1 });
        editor.dispatch({
          selection: { anchor: from },
          effects: EditorView.scrollIntoView(from, { y: "center" }),
        });
        editor.focus();
      }
    },
  }));
  return <div ref={box} className={classes.editor} data-readonly={readOnly || undefined} />;
}

/**
 * Replaces the selection in the editor. Browsers would keep its formatting with style attributes, which the page's CSP
 * forbids.
 */
function typeOver(event: InputEvent, view: EditorView): boolean {
  // Use the browser's selection, because the editor's may be outdated.
  const selection = document.getSelection();
  if (
    event.inputType !== "insertText" ||
    event.data === null ||
    !selection ||
    selection.isCollapsed ||
    view.composing
  ) {
    return false;
  }
  event.preventDefault();
  const range = selection.getRangeAt(0);
  const from = view.posAtDOM(range.startContainer, range.startOffset);
  const to = view.posAtDOM(range.endContainer, range.endOffset);
  const text = event.data;
  const insert = () =>
    view.state.update({
      changes: { from, to, insert: text },
      selection: { anchor: from + text.length },
      userEvent: "input.type",
    });
  if (!view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, text, insert))) {
    view.dispatch(insert());
  }
  return true;
}

function linesAbove(doc: Text, line: number): string[] {
  return Array.from({ length: line - 1 }, (_, i) => doc.line(i + 1).text);
}

function diagnosticText({ message, hint, code }: Schema["PolicyProblem"]): string {
  return `${message}${hint ? ` – ${hint}` : ""} [${code}]`;
}

/** The position of a problem. The gateway counts characters, the editor UTF-16 code units. */
function spanOf(doc: Text, { line, column, width }: { line: number; column: number; width: number }) {
  const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
  const before = [...at.text].slice(0, column - 1).join("").length;
  const marked = [...at.text].slice(column - 1, column - 1 + width).join("").length;
  const from = Math.min(at.from + before, at.to);
  return { from, to: Math.min(from + Math.max(marked, 1), Math.max(at.to, from)) };
}

function readOnlyExtensions(readOnly: boolean) {
  return [EditorState.readOnly.of(readOnly), EditorView.editable.of(!readOnly)];
}

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--code-key)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-text)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.atom], color: "var(--code-value)" },
  { tag: tags.comment, color: "var(--mantine-color-dimmed)", fontStyle: "italic" },
]);

// Colours use the page's variables, so that the editor follows the theme.
const look = EditorView.theme({
  "&": { fontSize: "var(--mantine-font-size-xs)", backgroundColor: "var(--mantine-color-body)" },
  "&.cm-focused": { outline: "2px solid var(--mantine-primary-color-filled)", outlineOffset: "-1px" },
  ".cm-scroller": { fontFamily: "var(--mantine-font-family-monospace)", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--mantine-color-text)", padding: "8px 0" },
  ".cm-cursor": { borderLeftColor: "var(--mantine-color-text)" },
  ".cm-gutters": {
    backgroundColor: "var(--mantine-color-default-hover)",
    color: "var(--mantine-color-dimmed)",
    border: "none",
  },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--code-line)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--code-selection)",
  },
  ".cm-placeholder": { color: "var(--mantine-color-dimmed)" },
  ".cm-tooltip": {
    backgroundColor: "var(--mantine-color-body)",
    color: "var(--mantine-color-text)",
    border: "1px solid var(--mantine-color-default-border)",
    borderRadius: "var(--mantine-radius-sm)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--mantine-primary-color-filled)",
    color: "var(--mantine-color-white)",
  },
  ".cm-tooltip .cm-completionDetail": { fontStyle: "normal", opacity: "0.85" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--mantine-color-error)" },
});

const basics = [
  EditorView.cspNonce.of(pageMeta("nonce")),
  EditorView.contentAttributes.of({ "aria-label": "Policies as YAML", spellcheck: "false" }),
  lineNumbers(),
  lintGutter(),
  history(),
  drawSelection(),
  indentOnInput(),
  closeBrackets(),
  highlightActiveLine(),
  highlightActiveLineGutter(),
  EditorView.lineWrapping,
  placeholder("policies:\n  - name: …"),
  yaml(),
  syntaxHighlighting(colours),
  look,
  // Tab is not bound, so that it moves the focus out of the editor.
  keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...lintKeymap, ...defaultKeymap]),
];
