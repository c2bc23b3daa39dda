package chat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"fairlead/internal/llm"
	"fairlead/internal/wire/show"
	"fairlead/internal/wire/strict"
)

// Bounds of what a request may name.
const (
	maxProblems  = 20
	maxName      = 256 // bytes of a model name, a session id or an end user's name
	maxNames     = 64  // entries of models, and of each list in provider
	maxLabels    = 64
	maxLabel     = 512
	maxTokens    = 1 << 53
	maxChoices   = 128
	maxInputs    = 2048
	maxDimension = 1 << 20
)

// decoder reads one request. It embeds the scanner: every step of checking is a step of reading.
type decoder struct {
	Scanner
	req      *llm.Request
	problems []problem

	model, messages, input    bool // seen with a value
	maxTokens, maxCompletion  int64
	bestOf                    int64
	longest                   int    // of the inputs: bytes, or token ids
	top                       string // the top-level member that is read
	previewText               String
	safetyIdentifier, endUser string
}

type problem struct{ param, message string }

// DecodeRequest checks a request strictly and describes it. It refuses what two parsers may read
// differently, checks the types of what routing, limits and money need, and leaves everything else to the provider.
func (Format) DecodeRequest(ctx context.Context, op llm.Op, body []byte) (*llm.Request, error) {
	keys := keyBuffers.Get().(*keyBuffer)
	defer keys.release()
	d := decoder{
		Scanner: Scanner{Context: ctx, Data: body, Strict: true, keys: keys[:0]},
		req:     &llm.Request{Op: op, Format: Name, Body: body, Choices: 1},
	}
	d.Sample = &d.req.Sample
	d.request(op)
	if d.Err != nil {
		return nil, d.unreadable()
	}
	d.finish(op)
	if len(d.problems) > 0 {
		return nil, d.rejection()
	}
	return d.req, nil
}

// keyBuffer is where the keys of the objects that are open are noted, as long as they are few.
type keyBuffer [24][]byte

var keyBuffers = sync.Pool{New: func() any { return new(keyBuffer) }}

func (k *keyBuffer) release() {
	clear(k[:]) // they are parts of the body
	keyBuffers.Put(k)
}

func (d *decoder) request(op llm.Op) {
	switch d.Peek() {
	case '{':
	case 0:
		d.Fail("the body is empty")
		return
	default:
		if d.Skip(); d.Err == nil {
			d.End()
		}
		d.problem("", "The body must be a JSON object.")
		return
	}
	d.req.Fields = make([]llm.Field, 0, 8)
	for key := range d.Members {
		at := d.KeyStart
		d.Peek()
		start := d.Pos
		name := d.field(key)
		d.top = name
		switch {
		case d.common(name):
		case op == llm.Chat:
			d.chat(name)
		case op == llm.Embed:
			d.embed(name)
		case op == llm.Complete:
			d.prompt(name)
		case op == llm.Moderate:
			d.moderate(name)
		}
		if d.Pos == start {
			d.extra()
		}
		d.req.Fields = append(d.req.Fields, llm.Field{Name: name, KeyStart: at, Value: start, End: d.Pos})
	}
	d.End()
}

// common reads the members that all operations have; it reports false for all others.
func (d *decoder) common(name string) bool {
	r := d.req
	switch name {
	case "model":
		d.model = d.name("model", &r.Model)
	case "models":
		r.Controls.Models = d.names("models")
	case "provider":
		d.provider(&r.Controls.Provider)
	case "session_id":
		d.name("session_id", &r.Controls.SessionID)
	case "user":
		d.label("user", &d.endUser)
	case "safety_identifier":
		d.label("safety_identifier", &d.safetyIdentifier)
	case "metadata":
		d.metadata()
	case "service_tier":
		d.label("service_tier", &r.ServiceTier)
	default:
		return false
	}
	return true
}

// finish checks what can only be judged once everything is read.
func (d *decoder) finish(op llm.Op) {
	if len(d.problems) == 0 || d.problems[0].param != "" {
		d.require(op)
	}
	r := d.req
	r.MaxOutput = max(d.maxTokens, d.maxCompletion)
	if d.maxTokens > 0 && d.maxCompletion > 0 && d.maxTokens != d.maxCompletion {
		d.problem("max_tokens", "max_tokens is %d and max_completion_tokens is %d. Send one of them, or the same number in both.", d.maxTokens, d.maxCompletion)
	}
	if op == llm.Complete {
		// Every prompt is answered so often, and answers that are not shown are paid for too.
		r.Choices = max(r.Choices, int(d.bestOf)) * max(r.Inputs, 1)
	}
	r.ASCIIBytes, r.NonASCIIBytes, r.Longest = d.ASCII, d.NonASCII, d.longestShare()
	r.EndUser = d.endUser
	if r.EndUser == "" {
		r.EndUser = d.safetyIdentifier
	}
	if !d.previewText.Empty() && len(d.problems) == 0 {
		r.Preview = preview(d.Data[d.previewText.Start:d.previewText.End])
		r.Asked = llm.RawText(d.Data[d.previewText.Start:d.previewText.End])
	}
}

func (d *decoder) require(op llm.Op) {
	if op == llm.Moderate && !d.model && !d.hasProblem("model") {
		d.model, d.req.Model = true, DefaultModeration
	}
	if !d.model && !d.hasProblem("model") {
		d.problem("model", `The field "model" is missing. Name a model, or "auto" to have one chosen.`)
	}
	if op == llm.Chat && !d.messages && !d.hasProblem("messages") {
		d.problem("messages", `The field "messages" is missing. Send a list with at least one message.`)
	}
	name, want := "input", "a text, a list of texts, or token ids"
	switch op {
	case llm.Embed:
	case llm.Complete:
		name = "prompt"
	case llm.Moderate:
		want = "a text, a list of texts, or a list of parts"
	default:
		return
	}
	if !d.input && !d.hasProblem(name) {
		d.problem(name, "The field %q is missing. Send %s.", name, want)
	}
}

// hasProblem reports whether a problem names the field already.
func (d *decoder) hasProblem(param string) bool {
	for _, p := range d.problems {
		if strings.EqualFold(p.param, param) {
			return true
		}
	}
	return false
}

func (d *decoder) problem(param, format string, args ...any) {
	if len(d.problems) < maxProblems {
		d.problems = append(d.problems, problem{param, fmt.Sprintf(format, args...)})
	}
}

// unreadable is the refusal of a body that could not be read to its end.
func (d *decoder) unreadable() *llm.Error {
	if cancelled, ok := errors.AsType[*llm.Error](d.Err); ok {
		return cancelled
	}
	if repeated, ok := errors.AsType[*RepeatedKeyError](d.Err); ok {
		key := show.Quote(repeated.Key)
		d.problem(show.Cut(repeated.Key, maxLabel), "The key %s appears twice in the same object, and different readers would take different values. Send each key once.", key)
		return d.rejection()
	}
	if over, ok := errors.AsType[*strict.LimitError](d.Err); ok {
		return over.Reject(d.top)
	}
	message := "The body is not valid JSON: " + d.Err.Error() + "."
	if bytes.HasPrefix(d.Data, []byte("\xef\xbb\xbf")) {
		message = "The body begins with a byte order mark. Send plain UTF-8 without it."
	} else if d.Pos < len(d.Data) && d.Data[d.Pos] >= utf8.RuneSelf && !utf8.Valid(d.Data[d.Pos:min(len(d.Data), d.Pos+utf8.UTFMax)]) {
		message = fmt.Sprintf("The body is not valid UTF-8 at byte %d. Send JSON encoded in UTF-8.", d.Pos)
	}
	e := &llm.Error{Kind: llm.InvalidJSON, Message: message}
	return e.With("problems", []map[string]string{{"param": "", "message": message}})
}

// rejection lists every problem; the first one is the sentence that people see.
func (d *decoder) rejection() *llm.Error {
	list := make([]map[string]string, len(d.problems))
	for i, p := range d.problems {
		list[i] = map[string]string{"param": p.param, "message": p.message}
	}
	first := d.problems[0]
	e := &llm.Error{Kind: llm.InvalidRequest, Message: first.message, Param: first.param}
	return e.With("problems", list)
}
