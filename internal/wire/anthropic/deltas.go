package anthropic

import (
	"errors"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/sse"
	"fairlead.dev/internal/wire/upstream"
)

// DeltaOptions holds the settings for decoding a response into deltas.
type DeltaOptions struct {
	upstream.Reading
	Signer      string   // name under which thinking signatures are recorded
	SchemaTool  string   // name of the tool whose input is the response; see SchemaTool
	CustomTools []string // names of the tools that accept free text
}

// Deltas decodes a provider's 2xx response, streamed or not. The last pair may contain an *llm.Error, or an error that
// wraps the error of the request's context.
func Deltas(r io.Reader, o DeltaOptions) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		p := deltaReader{Source: upstream.NewSource(o.Reading), o: o, yield: yield, blocks: map[int64]*block{}}
		err := p.read(r)
		if p.gone {
			return
		}
		usage := p.counts.Usage()
		if err != nil && p.finish == "" || !p.counts.Final {
			usage = upstream.RunningUsage(usage, p.ascii, p.other)
		}
		if usage != nil && !yield(llm.Delta{Kind: llm.UsageDelta, Usage: usage}, nil) {
			return
		}
		if err != nil {
			yield(llm.Delta{}, err)
		}
	}
}

// deltaReader holds the state of decoding one response.
type deltaReader struct {
	*upstream.Source
	o      DeltaOptions
	yield  func(llm.Delta, error) bool
	gone   bool // whether the consumer has stopped
	counts Counts

	ascii, other int // number of ASCII and of non-ASCII text bytes
	characters   int // number of text characters, without thinking and arguments
	began, ended bool
	blocks       map[int64]*block // open blocks by index
	calls        int              // number of tool calls
	finish       string
	stop         string
	lost         bool
}

// block is an open content block.
type block struct {
	kind      string
	index     int    // index of the tool call
	call      string // tool name
	id        string
	initial   string // input of the tool call in the start event
	held      []byte // input received so far for a custom tool
	spoke     bool   // whether input was received after the start event
	signature strings.Builder
	sealed    string
	from      int // position of the first character of a text block
	citations []llm.Citation
}

func (p *deltaReader) emit(d llm.Delta) {
	ascii, other := upstream.CountText(d.Text)
	p.ascii += ascii
	p.other += other
	if d.Kind == llm.TextDelta {
		p.characters += utf8.RuneCountInString(d.Text)
	}
	p.gone = p.gone || !p.yield(d, nil)
}

func (p *deltaReader) read(r io.Reader) error {
	events := sse.NewReader(r, p.o.MaxLine)
	first, err := events.First()
	switch {
	case errors.Is(err, io.EOF):
		return upstream.Malformed("The provider sent an empty response.")
	case err != nil:
		return upstream.Failure(err)
	case first == '{' || first == '[' || !p.o.Stream:
		return p.message(events.Rest())
	}
	if err := p.Frames(events, p.take); err != nil {
		return err
	}
	switch {
	case p.gone || p.ended:
		return nil
	case !p.began:
		return upstream.Malformed("The provider's response has no message.")
	case p.finish == "":
		return upstream.Interrupted()
	}
	p.end()
	return nil
}

// message decodes a non-streamed response and yields the deltas of the equivalent stream.
func (p *deltaReader) message(r io.Reader) error {
	message, _, err := readWhole(p.Source, r)
	if err != nil {
		return err
	}
	if p.o.Stream {
		p.Warn("the provider sent a non-streaming response to a streaming request")
	}
	p.counts.End(message.Get("usage"))
	p.begin(message)
	index := int64(0)
	message.Get("content").ForEach(func(_, block rawjson.Value) bool {
		p.open(index, block)
		p.close(index)
		index++
		return !p.gone
	})
	p.addUsage(message)
	if p.finish == "" {
		p.finish = "stop"
		if p.calls > 0 {
			p.finish = "tool_calls"
		}
	}
	p.end()
	return nil
}

// take decodes one event of a stream. It returns false when the stream has ended.
func (p *deltaReader) take(f upstream.Frame) (bool, error) {
	index := f.Value.Get("index").Int()
	switch f.Name {
	case "message_start":
		p.begin(f.Value.Get("message"))
	case "content_block_start":
		p.begin(rawjson.Value{})
		p.open(index, f.Value.Get("content_block"))
	case "content_block_delta":
		p.delta(index, f.Value.Get("delta"))
	case "content_block_stop":
		p.close(index)
	case "message_delta":
		p.counts.End(f.Value.Get("usage"))
		p.addUsage(f.Value.Get("delta"))
	case "message_stop":
		if p.finish == "" {
			return false, upstream.Interrupted()
		}
		p.end()
	}
	return !p.gone && !p.ended, nil
}

func (p *deltaReader) begin(message rawjson.Value) {
	p.counts.Add(message.Get("usage"))
	if p.began {
		return
	}
	p.began = true
	p.emit(llm.Delta{Kind: llm.BeginDelta, ID: message.Get("id").String(), Model: message.Get("model").String()})
	if usage := p.counts.Usage(); usage != nil && !p.gone {
		p.emit(llm.Delta{Kind: llm.UsageDelta, Usage: usage})
	}
}

func (p *deltaReader) addUsage(v rawjson.Value) {
	if reason := v.Get("stop_reason").String(); reason != "" {
		p.finish, p.Finished = FinishReason(reason), true
	}
	if stop := v.Get("stop_sequence").String(); stop != "" {
		p.stop = stop
	}
}

// end emits the finish reason. If the model called only the schema tool, whose input became the text of the response, end emits "stop"
// instead of "tool_calls".
func (p *deltaReader) end() {
	p.ended = true
	for _, index := range slices.Sorted(maps.Keys(p.blocks)) {
		p.close(index)
	}
	if p.finish == "tool_calls" && p.calls == 0 && p.o.SchemaTool != "" {
		p.finish = "stop"
	}
	if !p.gone {
		p.emit(llm.Delta{Kind: llm.FinishDelta, Finish: p.finish, StopSequence: p.stop})
	}
}
