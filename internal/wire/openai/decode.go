package openai

import (
	"bytes"
	"cmp"
	"context"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/validate"
)

const (
	maxInputs    = MaxInputs
	maxDimension = 1 << 20
)

// decoder validates one request and records its properties.
type decoder struct {
	validate.Reader
	req *llm.Request

	messages, input bool // whether the messages and the input member are present and not null
	outputLimits
	longest                   int    // length of the longest input, in bytes or token IDs
	top                       string // name of the top-level member being read
	previewText               rawjson.String
	instructed                rawjson.String
	safetyIdentifier, endUser string
	custom                    bool // whether the request has custom tools or calls to custom tools
}

// outputLimits holds the members of a request that limit the output.
type outputLimits struct {
	maxTokens, maxCompletion int64
	bestOf                   int64
}

// DecodeRequest validates a request strictly and returns its properties. It rejects bodies that two parsers may read
// differently. It checks the types of the fields that routing, limits and pricing need. The provider checks all other
// fields.
func (Format) DecodeRequest(ctx context.Context, op llm.Op, body []byte) (*llm.Request, error) {
	d := decoder{
		Reader: validate.Reader{Scanner: rawjson.NewStrict(ctx, body)},
		req:    &llm.Request{Op: op, Payload: llm.Payload{Format: Name, Body: body}, ResponseOptions: llm.ResponseOptions{Choices: 1}},
	}
	defer d.Release()
	d.Spans = &d.req.PromptSample
	if err := d.decode(op); err != nil {
		return nil, err
	}
	return d.req, nil
}

func (d *decoder) decode(op llm.Op) error {
	fields := chatFields
	switch op {
	case llm.Embed:
		fields = embedFields
	case llm.Complete:
		fields = promptFields
	case llm.Moderate:
		fields = moderationFields
	default:
	}
	d.req.Fields = make([]llm.Field, 0, 8)
	read := func(key []byte) {
		field := llm.Field{KeyStart: d.KeyStart, Value: d.Pos}
		field.Name = fields.ReadMember(&d.Reader, key, d)
		d.top = field.Name
		if d.Pos == field.Value {
			d.countExtra()
		}
		field.End = d.Pos
		d.req.Fields = append(d.req.Fields, field)
	}
	if err := strict.Members(&d.Scanner, read); err != nil {
		return err
	}
	if d.Err != nil {
		return strict.Error(&d.Scanner, d.top)
	}
	d.finish(op)
	if err := d.Reject(); err != nil {
		return err
	}
	return nil
}

// finish checks the required fields and the rules that involve several fields.
func (d *decoder) finish(op llm.Op) {
	r := d.req
	if op == llm.Moderate && r.Model == "" && !d.HasProblem("model") {
		r.Model = "auto" // OpenAI's API does not require a model for moderations
	}
	d.Require("model", r.Model != "", `Name a model, or send "auto" to have one chosen.`)
	switch op {
	case llm.Chat:
		d.Require("messages", d.messages, "Send a list with at least one message.")
	case llm.Embed:
		d.Require("input", d.input, "Send a string, a list of strings, or token IDs.")
	case llm.Complete:
		d.Require("prompt", d.input, "Send a string, a list of strings, or token IDs.")
	case llm.Moderate:
		d.Require("input", d.input, "Send a string, a list of strings, or a list of parts.")
	default:
	}
	r.MaxOutput = max(d.maxTokens, d.maxCompletion)
	if d.maxTokens > 0 && d.maxCompletion > 0 && d.maxTokens != d.maxCompletion {
		d.Problem("max_tokens", "max_tokens is %d and max_completion_tokens is %d. Send one of them, or the same number in both.", d.maxTokens, d.maxCompletion)
	}
	if op == llm.Complete {
		// The larger of n and best_of is the number of completions per prompt. Completions that are not returned are also billed.
		r.Choices = max(r.Choices, int(d.bestOf)) * max(r.Inputs, 1)
	}
	r.ASCIIBytes, r.NonASCIIBytes = d.ASCII, d.NonASCII
	if all := d.ASCII + d.NonASCII + int(r.TokenIDs); r.Inputs > 1 && all > 0 {
		r.Longest = float64(d.longest) / float64(all)
	}
	r.Plain = !d.custom
	for _, f := range r.Fields {
		r.Plain = r.Plain && (f.Name != "tool_choice" || !bytes.Contains(d.Data[f.Value:f.End], []byte(`"custom"`)))
	}
	r.EndUser = cmp.Or(d.endUser, d.safetyIdentifier)
	if !d.instructed.Empty() {
		r.Instructed = llm.RawText(d.Data[d.instructed.Start:d.instructed.End])
	}
	if !d.previewText.Empty() && d.Valid() {
		r.Preview = preview(d.Data[d.previewText.Start:d.previewText.End])
		r.Asked = llm.RawText(d.Data[d.previewText.Start:d.previewText.End])
	}
}
