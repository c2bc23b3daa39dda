package gemini

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire"
)

// LimitOutput implements wire.OutputLimiter.
func (Format) LimitOutput(req *llm.Request, limit int64) []byte {
	return req.Replace(func(name string, value []byte) []byte {
		if camelCase(name) != "generationConfig" {
			return nil
		}
		return limitOutput(value, limit)
	})
}

// limitOutput returns generationConfig with the given output limit.
func limitOutput(config []byte, limit int64) []byte {
	list, _ := readMembers(config)
	return list.with("maxOutputTokens", strconv.AppendInt(nil, limit, 10)).encode()
}

// Prefill implements wire.Resumer.
func (f Format) Prefill(ctx context.Context, req *llm.Request, text string, maxOutput int64) (*llm.Request, error) {
	turn, err := encode(content{Role: roleModel, Parts: []part{textPart(text)}})
	if err != nil {
		return nil, err
	}
	return f.DecodeRequest(ctx, req.Op, req.Replace(func(name string, value []byte) []byte {
		switch camelCase(name) {
		case "contents":
			end := bytes.LastIndexByte(value, ']')
			return slices.Concat(bytes.TrimRight(value[:end], " \t\r\n"), []byte{','}, turn, value[end:])
		case "generationConfig":
			if maxOutput > 0 && req.MaxOutput > 0 {
				return limitOutput(value, maxOutput)
			}
		}
		return nil
	}))
}

// Resume implements wire.Resumer. A stream can be continued if it contains only text.
func (Format) Resume(req *llm.Request, sent []byte) (wire.Continuation, bool) {
	e := newResponseEncoder(req, "")
	var collected strings.Builder
	for line := range bytes.Lines(sent) {
		var event response
		if json.Unmarshal(line, &event, lenient) != nil {
			return wire.Continuation{}, false
		}
		if event.ID != "" {
			e.id, e.began = event.ID, true
		}
		if event.Model != "" {
			e.model = event.Model
		}
		for _, c := range event.Candidates {
			if c.Index != 0 || c.Finish != "" {
				return wire.Continuation{}, false
			}
			for _, p := range c.Content.Parts {
				if p.Text == nil || p.Thought || p.Signature != "" {
					return wire.Continuation{}, false
				}
				collected.WriteString(*p.Text)
			}
		}
	}
	if collected.Len() == 0 {
		return wire.Continuation{}, false
	}
	e.choices = []*encodedChoice{{}}
	return wire.Continuation{Text: collected.String(), Encode: e.encodeDeltas}, true
}

// Assemble joins the events of a stream, one per line, into one response.
func Assemble(events []byte) ([]byte, error) {
	if bytes.Contains(events, []byte(`"inlineData"`)) {
		return nil, errors.New("response contains media") // parts with media cannot be joined
	}
	e := newResponseEncoder(&llm.Request{}, "")
	e.thoughts = true
	named := func(yield func(llm.Delta, error) bool) {
		for d, err := range Stored(events) {
			if d.Kind == llm.BeginDelta {
				e.model = d.Model
			}
			if !yield(d, err) {
				return
			}
		}
	}
	for ev, err := range e.encodeDeltas(named) {
		return ev.Data, err
	}
	return nil, errors.New("response is empty")
}

// Stored decodes a stored response: one event per line, or a complete response.
func Stored(response []byte) iter.Seq2[llm.Delta, error] {
	var wired bytes.Buffer
	for line := range bytes.Lines(response) {
		fmt.Fprintf(&wired, "data: %s\n\n", bytes.TrimSpace(line))
	}
	return Deltas(&wired, DeltaOptions{Stream: true})
}
