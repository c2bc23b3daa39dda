package anthropic

import (
	"cmp"
	"context"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/validate"
)

// decoder validates one request and records its properties.
type decoder struct {
	validate.Reader
	req  *llm.Request
	seen map[string]bool // top-level members that are not null

	base       int  // position in the body of the value of the current top-level member
	asked      span // first text in the last user message
	instructed span // first text in the instructions
	special    bool // whether the messages have system turns, or thinking or citations that Rewrite changes
}

// span is the position of an encoded string in the body, without the quotes.
type span struct{ start, end int }

// textAt returns the position in the body of a string in the current top-level member.
func (d *decoder) textAt(v rawjson.Value) span {
	if v.Kind != rawjson.Text {
		return span{}
	}
	return span{d.base + v.Index + 1, d.base + v.Index + len(v.Raw) - 1}
}

// DecodeRequest validates a Messages request strictly and returns its properties. It checks the types of the fields that routing, limits
// and pricing need. The provider checks all other fields. max_tokens is optional in a token-count request.
func (Format) DecodeRequest(ctx context.Context, op llm.Op, body []byte) (*llm.Request, error) {
	fields, err := strict.Object(ctx, body)
	if err != nil {
		return nil, err
	}
	if op != llm.Chat && op != llm.Count {
		return nil, strict.Reject(strict.Problem{Message: "The messages format does not support the operation " + string(op) + "."})
	}
	d := decoder{
		Reader: validate.Reader{Scanner: rawjson.Scanner{Data: body, Context: ctx}},
		req:    &llm.Request{Op: op, Payload: llm.Payload{Format: Name, Body: body, Fields: fields}, ResponseOptions: llm.ResponseOptions{Choices: 1}},
		seen:   make(map[string]bool, len(fields)),
	}
	for _, f := range fields {
		d.Pos, d.base = f.Value, f.Value
		if d.SkipNull() {
			d.RejectLookAlikes("", f.Name, requestFields.Names()...)
			continue
		}
		d.seen[f.Name] = true
		requestFields.ReadMember(&d.Reader, []byte(f.Name), &d)
		if d.Pos == f.Value {
			d.req.ExtraBytes += d.CountText(&d.req.PromptSize, rawjson.Parse(body[f.Value:f.End])) // the provider may add an unknown member to the prompt
		}
	}
	if err := llm.Cancelled(ctx); err != nil {
		return nil, err
	}
	d.Require("model", d.seen["model"], `Name a model, or send "auto" to have one chosen.`)
	d.Require("messages", d.seen["messages"], "Send a list with at least one message.")
	d.Require("max_tokens", d.seen["max_tokens"] || op == llm.Count, "Send the maximum number of output tokens.")
	if err := d.Reject(); err != nil {
		return nil, err
	}
	if t := d.asked; t.end > 0 {
		d.req.Preview = show.Preview(string(rawjson.Unescape(nil, body[t.start:t.end], t.end-t.start)), llm.PreviewBytes)
		d.req.Asked = llm.RawText(body[t.start:t.end])
	}
	d.req.Plain = !d.special
	d.req.Instructed = llm.RawText(body[d.instructed.start:d.instructed.end])
	return d.req, nil
}

type field = validate.Field[decoder]

func requestOf(d *decoder) *llm.Request { return d.req }

var requestFields = validate.NewObject(slices.Concat(validate.Controls(requestOf), []field{
	validate.Value("messages", func(d *decoder, v rawjson.Value) {
		if d.IsKind("messages", v, "a list of messages", rawjson.List) {
			d.messageList(v)
		}
	}),
	validate.Int("max_tokens", 1, validate.MaxTokens, func(d *decoder, n int64) { d.req.MaxOutput = n }),
	validate.Bool("stream", func(d *decoder, b bool) { d.req.Stream = b }),
	validate.Value("system", (*decoder).system),
	validate.Value("tools", (*decoder).tools),
	validate.Nested("tool_choice", validate.NewObject(
		ignored("type"), ignored("name"), ignored("disable_parallel_tool_use"),
	), requestOf),
	validate.Nested("thinking", validate.NewObject(
		validate.Value("type", func(r *llm.Request, v rawjson.Value) {
			r.Effort = cmp.Or(r.Effort, llm.CustomEffort)
			if kind := v.String(); kind != "between_tools" && llm.Reasons(kind) {
				r.Needs |= llm.Reasoning
			}
		}),
		ignored("budget_tokens"), ignored("display"),
	), requestOf),
	validate.Nested("output_config", validate.NewObject(
		validate.Value("format", (*decoder).outputFormat),
		validate.Value("effort", func(d *decoder, v rawjson.Value) { d.req.Effort = cmp.Or(v.String(), d.req.Effort) }),
	), func(d *decoder) *decoder { return d }),
	validate.Value("output_format", (*decoder).outputFormat),
	validate.Nested("metadata", validate.NewObject(
		validate.Label("user_id", func(r *llm.Request, s string) { r.EndUser = s }),
	), requestOf),
	samplingField("temperature"), samplingField("top_p"), samplingField("top_k"),
	validate.Value("mcp_servers", (*decoder).vendorFeature), validate.Value("container", (*decoder).vendorFeature),
})...)

// samplingField declares a setting that some models reject. Only the provider validates its value.
func samplingField(name string) field {
	return field{Name: name, Read: func(r *validate.Reader, name string, d *decoder) {
		d.req.Sampling = append(d.req.Sampling, name)
		r.Skip()
	}}
}

// ignored returns a field that only the provider validates.
func ignored(name string) validate.Field[llm.Request] {
	return validate.Field[llm.Request]{Name: name, Read: func(r *validate.Reader, _ string, _ *llm.Request) { r.Skip() }}
}

// rejectLookAlikes records a problem for every key of an object that differs from one of the given names only in case. path is the path of
// the object, with a dot at the end.
func (d *decoder) rejectLookAlikes(path string, v rawjson.Value, names []string) {
	if v.IsObject() && d.Context.Err() == nil {
		v.ForEach(func(key, _ rawjson.Value) bool {
			d.RejectLookAlikes(path, key.String(), names...)
			return true
		})
	}
}
