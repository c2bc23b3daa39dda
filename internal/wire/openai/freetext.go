package openai

import (
	"iter"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// freeTextSchema is the schema of the function that replaces a custom tool, for providers that support only functions. Its argument, named
// input, contains the text.
const freeTextSchema = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`

// wrapFreeText returns the text of a custom tool as the arguments of a function.
func wrapFreeText(text string) string {
	var w rawjson.Writer
	w.Open()
	w.Str("input", text)
	w.Close()
	return string(w.Out)
}

// FreeText converts function calls to custom calls if the tool is a custom tool that was sent as a function. It yields the text of
// a call in one delta, because only complete arguments can be decoded.
func FreeText(deltas iter.Seq2[llm.Delta, error], custom func(name string) bool) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		var held []*heldCall
		find := func(p *llm.Delta) *heldCall {
			for _, h := range held {
				if h.choice == p.Choice && h.index == p.Index {
					return h
				}
			}
			return nil
		}
		for p, err := range deltas {
			switch {
			case err != nil:
			case p.Kind == llm.CallDelta && p.Call != nil && !p.Call.Custom && custom(p.Call.Name):
				call := *p.Call
				call.Custom, call.Arguments = true, ""
				h := &heldCall{choice: p.Choice, index: p.Index}
				h.arguments.WriteString(p.Call.Arguments)
				held = append(held, h)
				p.Call = &call
			case p.Kind == llm.ArgumentsDelta:
				if h := find(&p); h != nil {
					h.arguments.WriteString(p.Text)
					continue
				}
			case p.Kind == llm.FinishDelta:
				for _, h := range held {
					text := h.arguments.String()
					if input := rawjson.ParseString(text).Get("input"); input.Kind == rawjson.Text {
						text = input.String()
					}
					if h.choice == p.Choice && text != "" && !yield(llm.Delta{Kind: llm.ArgumentsDelta, Choice: h.choice, Index: h.index, Text: text}, nil) {
						return
					}
				}
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// heldCall holds the arguments of a call of a custom tool until they are complete.
type heldCall struct {
	choice, index int
	arguments     strings.Builder
}
