package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/upstream"
)

// Encode encodes a response in the messages format: many events for a stream, otherwise one. If the deltas contain an
// error, Encode yields the usage so far and then the error.
func Encode(req *llm.Request, model string, deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	sum := sha256.Sum256(req.Body)
	a := &responseWriter{
		request: req, stream: req.Stream, current: -1, calls: map[int]int{},
		messageHead: messageHead{model: model, fallbackID: "msg_" + hex.EncodeToString(sum[:12])},
	}
	return a.write(deltas)
}

// write encodes the deltas as events.
func (a *responseWriter) write(deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if a.stream {
			a.emit = func(ev llm.Event) bool { return yield(ev, nil) }
		} else {
			a.emit = func(llm.Event) bool { return true }
		}
		for delta, err := range deltas {
			if err == nil {
				err = a.add(delta)
			}
			if err != nil {
				used := a.usage
				if a.finish == "" {
					used = upstream.RunningUsage(used, a.ascii, a.other)
				}
				if used == nil || yield(llm.Event{Bare: true, Usage: used, Model: a.reported}, nil) {
					yield(llm.Event{}, err)
				}
				return
			}
			if a.disconnected {
				return
			}
		}
		switch {
		case a.finish == "":
			yield(llm.Event{}, upstream.Interrupted())
		case a.stream:
			a.end()
		default:
			yield(a.whole(), nil)
		}
	}
}

// responseWriter holds the state of encoding one response.
type responseWriter struct {
	request      *llm.Request // client's request; nil when the writer continues an interrupted stream
	emit         func(llm.Event) bool
	stream       bool
	disconnected bool // whether the consumer of the events has stopped

	messageHead
	started      bool
	blocks       []*content
	current      int         // index of the open block; -1 for none
	calls        map[int]int // block indexes by index of the tool call
	finish, stop string
	usage        *llm.Usage

	ascii, other int
}

// messageHead identifies a message and its model.
type messageHead struct {
	model      string // model name that the client sees
	reported   string // model name that the provider reports
	id         string
	fallbackID string // message ID if the provider sends none
}

// content is one block of the response.
type content struct {
	kind      string
	text      strings.Builder // text, arguments or redacted data; not kept for a stream
	id, name  string
	signature string
	citations [][]byte
}

func (a *responseWriter) add(p llm.Delta) error {
	if p.Choice != 0 {
		return nil // the format supports only one choice, so other choices are dropped
	}
	switch p.Kind {
	case llm.BeginDelta:
		a.reported = p.Model
		if !a.started {
			a.id = p.ID
		}
	case llm.UsageDelta:
		a.usage = p.Usage
	case llm.FinishDelta:
		a.finish, a.stop = p.Finish, p.StopSequence
	default:
		a.start()
		return a.addContent(p)
	}
	return nil
}

// addContent handles a content delta.
func (a *responseWriter) addContent(p llm.Delta) error {
	switch p.Kind {
	case llm.TextDelta, llm.RefusalDelta:
		a.addText("text", p.Text)
	case llm.ThinkingDelta:
		a.addText("thinking", p.Text)
	case llm.SignatureDelta:
		a.addSignature(*p.Thinking)
	case llm.CitationDelta:
		a.cite(p.Citation)
	case llm.CallDelta:
		if p.Call.Signature != "" {
			b := &content{kind: "redacted_thinking"}
			b.text.WriteString(WrappedSignature{Provider: p.Call.Provider, Value: p.Call.Signature, Call: true}.String())
			a.open(b)
		}
		a.open(&content{kind: "tool_use", id: encodeID(p.Call.ID, 1), name: p.Call.Name})
		a.calls[p.Index] = a.current
		a.appendText(p.Call.Arguments)
	case llm.ArgumentsDelta:
		at, known := a.calls[p.Index]
		if !known || at != a.current {
			return upstream.Malformed("The provider mixes the arguments of several tool calls.")
		}
		a.appendText(p.Text)
	default:
	}
	return nil
}

// addText appends text to the open block, or to a new block if the open block is not of the given kind (text or thinking).
func (a *responseWriter) addText(kind, text string) {
	if text == "" {
		return
	}
	if a.current < 0 || a.blocks[a.current].kind != kind {
		a.open(&content{kind: kind})
	}
	a.appendText(text)
}

// addSignature ends a thinking block with its signature. The signature is wrapped together with the name of its provider, because the
// gateway must not send it to another provider when the client sends it back. An empty signature is also wrapped, because providers of
// this format reject thinking without a signature.
func (a *responseWriter) addSignature(t llm.Thinking) {
	if t.Redacted != "" {
		b := &content{kind: "redacted_thinking"}
		b.text.WriteString(WrappedSignature{Provider: t.Provider, Value: t.Redacted}.String())
		a.open(b)
		a.close()
		return
	}
	if a.current < 0 || a.blocks[a.current].kind != "thinking" {
		if t.Signature == "" {
			return
		}
		if last := len(a.blocks) - 1; last >= 0 && a.blocks[last].kind == "text" { // clients would show empty thinking after the text
			b := &content{kind: "redacted_thinking"}
			b.text.WriteString(WrappedSignature{Provider: t.Provider, Value: t.Signature, Text: true}.String())
			a.open(b)
			a.close()
			return
		}
		a.open(&content{kind: "thinking"}) // the signature belongs to thinking without text
	}
	a.blocks[a.current].signature = WrappedSignature{Provider: t.Provider, Value: t.Signature}.String()
	a.close()
}

// foreignCitation marks citations from a provider of another format. Providers of this format reject them, so they are
// removed when the client sends them back.
const foreignCitation = SignaturePrefix + "citation"

// cite adds a citation to the last block, if it is a text block. The citation applies to the whole block. In a stream, a citation for a
// block that has ended is dropped.
func (a *responseWriter) cite(c *llm.Citation) {
	last := len(a.blocks) - 1
	if last < 0 || a.blocks[last].kind != "text" || a.stream && a.current != last {
		return
	}
	var w rawjson.Writer
	w.Open()
	w.Str("type", "web_search_result_location")
	w.Str("url", c.URL)
	w.Str("title", c.Title)
	w.Str("cited_text", c.Quote)
	w.Str("encrypted_index", foreignCitation)
	w.Close()
	if !a.stream {
		a.blocks[last].citations = append(a.blocks[last].citations, w.Out)
		return
	}
	a.event("content_block_delta", llm.Event{}, func(e *rawjson.Writer) {
		e.Int("index", int64(a.current))
		e.Key("delta")
		e.Open()
		e.Str("type", "citations_delta")
		e.Raw("citation", w.Out)
		e.Close()
	})
}
