package gemini

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/fault"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/sse"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/upstream"
)

// Limits of a response.
const (
	DefaultMaxResponse = 64 << 20
	maxChoices         = 128
)

const contentFilter = "content_filter" // finish reason of a blocked response

// DeltaOptions holds the settings for decoding a provider's response.
type DeltaOptions struct {
	Stream      bool   // whether the request asked for a stream
	ContentType string // content type of the response
	Search      bool   // whether the request asked for web search
	Provider    string // provider that is recorded as the signer of thinking and calls
	Request     []byte // request body; makes call IDs unique across turns if the response has no ID
	ServiceTier string // service tier from the response headers; may be empty
	MaxLine     int    // maximum length of a stream line in bytes; 0 for sse.DefaultMaxLine
	MaxResponse int64  // maximum size of the response in bytes; 0 for DefaultMaxResponse
	SizeHint    int64  // Content-Length of the response, if known

	// Custom reports whether a tool accepts free text. It may be nil.
	Custom func(name string) bool
	// Warn receives warnings about corrected and dropped content. It may be nil.
	Warn func(string)
	// Document receives every document of the response after its deltas, for a client of the same format. If Document
	// returns an error, decoding stops. Document may be nil.
	Document func(document []byte) error
}

// Deltas decodes a provider's 2xx response. It detects from the content whether the response is streamed. A response
// ends with its finish reason and, if reported, its usage. A response without a finish reason is an error. The last
// pair may contain an *llm.Error, or an error that wraps the error of the request's context.
func Deltas(r io.Reader, o DeltaOptions) iter.Seq2[llm.Delta, error] {
	if o.MaxResponse <= 0 {
		o.MaxResponse = DefaultMaxResponse
	}
	return func(yield func(llm.Delta, error) bool) {
		dec := &responseDecoder{o: o, yield: yield, choices: map[int]*decodedChoice{}}
		dec.finish(dec.readResponse(r))
	}
}

// errStopped is returned when the consumer has stopped.
var errStopped = errors.New("consumer stopped")

// responseDecoder holds the state of decoding one response.
type responseDecoder struct {
	o     DeltaOptions
	yield func(llm.Delta, error) bool

	size     int64
	streamed bool
	lost     bool // whether a warning about dropped content was sent
	began    bool
	seed     string // seed from which call IDs are generated
	blocked  bool
	choices  map[int]*decodedChoice
	usage    *llm.Usage
	counted  bool // whether usage includes the output count
	summed   bool // whether the provider reported a total count
	queries  map[string]bool
}

// decodedChoice holds the state of decoding one candidate.
type decodedChoice struct {
	calls  int
	finish string // finish reason; empty until the provider reports it

	text      strings.Builder // text so far; kept for requests with web search, whose sources refer to byte ranges
	starts    []int           // offset in text at which each part of a non-streamed response starts
	grounding *grounding
}

func malformed(format string, args ...any) *llm.Error {
	return llm.Errorf(llm.UpstreamMalformed, format, args...)
}

func (dec *responseDecoder) readResponse(r io.Reader) error {
	events := sse.NewReader(r, dec.o.MaxLine)
	first, err := events.First()
	switch {
	case errors.Is(err, io.EOF):
		return malformed("The provider sent an empty response.")
	case err != nil:
		return upstream.Failure(err)
	case first == '{' || first == '[':
		return dec.readDocuments(events.Rest())
	case !dec.o.Stream:
		return notJSON("a JSON object", dec.o.ContentType, nil)
	}
	return dec.readStream(events)
}

// notJSON returns the error for a response that is not JSON of the expected form, which what describes.
func notJSON(what, contentType string, err error) *llm.Error {
	e := malformed("The provider's response is not %s.", what)
	if contentType != "" {
		e = malformed("The provider's response is not %s but %s.", what, show.Quote(contentType))
	}
	e.Err = err
	return e
}

// readDocuments decodes a response that is one JSON document: one object, or the list of events that the API sends without alt=sse.
func (dec *responseDecoder) readDocuments(r io.Reader) error {
	data, err := upstream.ReadAll(r, nil, dec.o.MaxResponse, dec.o.SizeHint)
	if err != nil {
		return err
	}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if err := strict.CheckResponse(data, 0); err != nil {
		return err
	}
	documents := []jsontext.Value{data}
	if len(data) > 0 && data[0] == '[' {
		if err := json.Unmarshal(data, &documents, lenient); err != nil {
			return notJSON("JSON", dec.o.ContentType, err)
		}
	}
	for _, document := range documents {
		var got response
		if err := json.Unmarshal(document, &got, lenient); err != nil {
			return notJSON("a JSON object", dec.o.ContentType, err)
		}
		if err := dec.decodeEvent(document, &got); err != nil {
			return err
		}
	}
	return dec.checkComplete()
}

// readStream decodes events until the connection ends, because the API has no end marker.
func (dec *responseDecoder) readStream(events *sse.Reader) error {
	dec.streamed = true
	for {
		in, err := events.Next()
		if errors.Is(err, io.EOF) {
			return dec.checkComplete()
		}
		if err != nil {
			return upstream.Failure(err)
		}
		if dec.size += int64(len(in.Data)); dec.size > dec.o.MaxResponse {
			return malformed("The provider's response is larger than %d bytes.", dec.o.MaxResponse)
		}
		data := bytes.TrimSpace(in.Data)
		if len(data) == 0 || string(data) == "[DONE]" { // ignore events that some gateways add
			continue
		}
		if err := strict.CheckResponse(data, 0); err != nil {
			return err
		}
		var got response
		switch err := json.Unmarshal(data, &got, lenient); {
		case err == nil:
		case in.Unterminated:
			continue // the event was truncated by the end of the stream, so it is dropped
		case string(in.Name) == "error" || data[0] == '[':
			return fault.Inside(data)
		default:
			// Never skip an invalid event, because it may contain text. Text can also follow a finish reason, because some models set a
			// finish reason in every event.
			return &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider sent an event that cannot be decoded.", Err: err}
		}
		if err := dec.decodeEvent(data, &got); err != nil {
			return err
		}
	}
}

// decodeEvent yields the deltas of one event and then calls Document with the event.
func (dec *responseDecoder) decodeEvent(data []byte, got *response) error {
	if isGiven(got.Error) {
		return fault.Inside(data)
	}
	if usage, ok := got.Usage.usage(); ok {
		dec.usage, dec.counted = &usage, got.Usage.Candidates != nil // counts are cumulative, so the latest usage replaces earlier ones
		dec.summed = got.Usage.Total > 0
	} else if got.Usage != nil && (got.Usage.Prompt != nil || got.Usage.Candidates != nil) {
		dec.warn("dropped implausible usage")
	}
	blocked := got.Feedback.Reason != "" && got.Feedback.Reason != "BLOCK_REASON_UNSPECIFIED"
	if !dec.began && (len(got.Candidates) > 0 || blocked) {
		dec.began, dec.seed = true, got.ID
		if dec.seed == "" {
			sum := sha256.Sum256(dec.o.Request)
			dec.seed = string(sum[:])
		}
		if err := dec.emit(llm.Delta{Kind: llm.BeginDelta, ID: got.ID, Model: got.Model}); err != nil {
			return err
		}
	}
	for i := range got.Candidates {
		if err := dec.decodeCandidate(&got.Candidates[i]); err != nil {
			return err
		}
	}
	if blocked && len(got.Candidates) == 0 {
		dec.blocked = true
	}
	if dec.o.Document != nil {
		return dec.o.Document(data)
	}
	return nil
}

func (dec *responseDecoder) emit(d llm.Delta) error {
	if !dec.yield(d, nil) {
		return errStopped
	}
	return nil
}

func (dec *responseDecoder) warn(what string) {
	if dec.o.Warn != nil {
		dec.o.Warn(what)
	}
}

// checkComplete returns an error if the response has no candidates, or if a candidate has no finish reason. A response without candidates is
// complete if the prompt was blocked.
func (dec *responseDecoder) checkComplete() error {
	if len(dec.choices) == 0 && dec.blocked {
		return nil
	}
	if len(dec.choices) == 0 {
		return malformed("The provider's response has no candidates.")
	}
	for _, c := range dec.choices {
		if c.finish == "" {
			return &llm.Error{Kind: llm.StreamInterrupted, Message: "The provider's response ended before it was complete."}
		}
	}
	return nil
}

// finish yields the last deltas: citations and finish reasons if err is nil, then the usage, then err if it is not nil.
func (dec *responseDecoder) finish(err error) {
	if errors.Is(err, errStopped) {
		return
	}
	if err == nil {
		if len(dec.choices) == 0 {
			dec.choices[0] = &decodedChoice{finish: contentFilter}
		}
		for _, n := range slices.Sorted(maps.Keys(dec.choices)) {
			if dec.emitCitations(n, dec.choices[n]) != nil {
				return
			}
			if dec.emit(llm.Delta{Kind: llm.FinishDelta, Choice: n, Finish: dec.choices[n].finish}) != nil {
				return
			}
		}
	}
	// Send the usage only if it includes the complete output. Otherwise the missing output would be free. Without a usage delta, the
	// gateway estimates the usage.
	if dec.usage != nil && dec.began && (dec.counted || err == nil && (dec.summed || dec.blocked)) {
		if dec.usage.ServiceTier == "" {
			dec.usage.ServiceTier = Tier(dec.o.ServiceTier)
		}
		dec.usage.Searches = int64(len(dec.queries))
		if dec.emit(llm.Delta{Kind: llm.UsageDelta, Usage: dec.usage}) != nil {
			return
		}
	}
	if err != nil {
		dec.yield(llm.Delta{}, err)
	}
}

// decodeCandidate yields the parts of one candidate and records its finish reason. The finish reason is yielded at the end of
// the response, because some models set a reason in every event.
func (dec *responseDecoder) decodeCandidate(got *candidate) error {
	if got.Index < 0 || got.Index >= maxChoices {
		return malformed("The provider sent a candidate with index %d.", got.Index)
	}
	c := dec.choices[got.Index]
	if c == nil {
		c = &decodedChoice{}
		dec.choices[got.Index] = c
	}
	if got.Grounding != nil && (c.grounding == nil || len(got.Grounding.Supports) > 0) {
		c.grounding = got.Grounding
	}
	if got.Grounding != nil {
		dec.countSearches(got.Grounding.Queries)
	}
	for i := range got.Content.Parts {
		if !dec.streamed {
			c.starts = append(c.starts, c.text.Len())
		}
		if err := dec.decodePart(got.Index, c, &got.Content.Parts[i]); err != nil {
			return err
		}
	}
	switch got.Finish {
	case "", "FINISH_REASON_UNSPECIFIED":
	case "STOP":
		c.finish = "stop"
		if c.calls > 0 {
			c.finish = "tool_calls"
		}
	case "MAX_TOKENS":
		c.finish = "length"
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "MODEL_ARMOR",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		c.finish = contentFilter
	default: // an error, or a reason that the gateway does not know
		kind := llm.UpstreamServer
		if strings.HasPrefix(got.Finish, "MALFORMED") {
			kind = llm.UpstreamMalformed
		}
		reason := show.Cut(show.OneLine(got.Finish), 60)
		e := llm.Errorf(kind, "The model's response was interrupted (%s).", reason)
		if message := show.Preview(got.Message, 200); message != "" {
			e.Message = strings.TrimSuffix(e.Message, ".") + ": " + message
		}
		e.UpstreamCode = reason
		return e
	}
	return nil
}

// decodePart yields one part. A signature in a text part ends the preceding thinking; a signature in a call part belongs to the call.
func (dec *responseDecoder) decodePart(n int, c *decodedChoice, got *part) error {
	switch {
	case got.Call != nil:
		return dec.decodeCall(n, c, got)
	case got.Text == nil && got.Signature == "":
		if !dec.lost && dec.o.Document == nil {
			dec.lost = true
			dec.warn("dropped a part of the response that is neither text nor a tool call")
		}
		return nil
	case got.Thought && got.Text != nil && *got.Text != "":
		if err := dec.emit(llm.Delta{Kind: llm.ThinkingDelta, Choice: n, Text: *got.Text}); err != nil {
			return err
		}
	}
	if got.Signature != "" {
		signature := &llm.Thinking{Signature: got.Signature, Provider: dec.o.Provider}
		if err := dec.emit(llm.Delta{Kind: llm.SignatureDelta, Choice: n, Thinking: signature}); err != nil {
			return err
		}
	}
	if got.Thought || got.Text == nil || *got.Text == "" {
		return nil
	}
	if dec.o.Search {
		c.text.WriteString(*got.Text)
	}
	return dec.emit(llm.Delta{Kind: llm.TextDelta, Choice: n, Text: *got.Text})
}

// decodeCall yields a tool call, which always arrives complete.
func (dec *responseDecoder) decodeCall(n int, c *decodedChoice, got *part) error {
	call := &llm.ToolCall{ID: got.Call.ID, Name: got.Call.Name, Arguments: "{}"}
	if args := got.Call.Args; isGiven(args) {
		_ = args.Compact(lenient) // cannot fail, because the arguments were decoded from JSON
		call.Arguments = string(args)
	}
	if call.ID == "" { // generate a deterministic ID that is unique across the turns of a conversation, even if the model repeats a call
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d\x00%s\x00%s", dec.seed, n, c.calls, call.Name, call.Arguments))
		call.ID = "call_" + hex.EncodeToString(sum[:12])
	}
	if got.Signature != "" {
		call.Signature, call.Provider = got.Signature, dec.o.Provider
	}
	if dec.o.Custom != nil && dec.o.Custom(call.Name) {
		call.Custom = true
		m, _ := readMembers(got.Call.Args)
		if raw := m.get(customInput); raw.Kind() == '"' {
			call.Arguments = upstream.Text(raw)
		}
	}
	c.calls++
	if c.finish == "stop" {
		c.finish = "tool_calls"
	}
	return dec.emit(llm.Delta{Kind: llm.CallDelta, Choice: n, Index: c.calls - 1, Call: call})
}
