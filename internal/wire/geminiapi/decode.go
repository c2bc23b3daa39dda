package geminiapi

import (
	"context"
	"slices"
	"strings"

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
	seen map[string]bool // canonical names of the top-level members that are not null

	schema bool // whether the request has an output schema
	json   bool // whether the request asks for JSON

	base       int  // position in the body of the value of the current top-level member
	asked      span // first text in the last user content
	instructed span // first text in the instructions
}

// span is the position of an encoded string in the body, without the quotes.
type span struct{ start, end int }

func (d *decoder) textAt(v rawjson.Value) span {
	if v.Kind != rawjson.Text {
		return span{}
	}
	return span{d.base + v.Index + 1, d.base + v.Index + len(v.Raw) - 1}
}

// DecodeRequest implements wire.Format. It checks the types of the fields that routing, limits and pricing need. The provider checks all
// other fields. The body of a token-count request is either the request to be counted or an object with this request as a member.
func (f Format) DecodeRequest(ctx context.Context, op llm.Op, body []byte) (*llm.Request, error) {
	fields, err := strict.Object(ctx, body)
	if err != nil {
		return nil, err
	}
	if op == llm.Embed {
		return f.decodeEmbed(ctx, body, fields)
	}
	if op != llm.Chat && op != llm.Count {
		return nil, strict.Reject(strict.Problem{Message: "The gemini format does not support the operation " + string(op) + "."})
	}
	if op == llm.Count {
		for _, m := range fields {
			if canonical(m.Name) == "generateContentRequest" && body[m.Value] == '{' {
				return f.DecodeRequest(ctx, op, body[m.Value:m.End])
			}
		}
	}
	d := decoder{
		Reader: validate.Reader{Scanner: rawjson.Scanner{Data: body, Context: ctx}},
		req:    &llm.Request{Op: op, Payload: llm.Payload{Format: Name, Body: body, Fields: fields}, ResponseOptions: llm.ResponseOptions{Choices: 1, Stream: f.Stream, IncludeUsage: true}},
		seen:   make(map[string]bool, len(fields)),
	}
	for _, m := range fields {
		d.member(m)
	}
	if err := llm.Cancelled(ctx); err != nil {
		return nil, err
	}
	if f.Model != "" {
		d.req.Model = f.Model
	}
	d.req.Model = ModelName(d.req.Model)
	d.Require("model", d.req.Model != "", `Name a model in the path, or "auto" to have one chosen.`)
	d.Require("contents", d.seen["contents"], "Send a list with at least one entry.")
	if err := d.Reject(); err != nil {
		return nil, err
	}
	d.finish(body)
	return d.req, nil
}

// member reads one top-level member.
func (d *decoder) member(m llm.Field) {
	d.Pos, d.base = m.Value, m.Value
	if d.SkipNull() {
		d.RejectLookAlikes("", m.Name, requestFields.Names()...)
		return
	}
	name := canonical(m.Name)
	if d.seen[name] {
		d.Problem(name, "%s appears in both camelCase and snake_case. Send it once.", name)
		return
	}
	d.seen[name] = true
	if inner, ok := nestedSettings[name]; ok {
		v := rawjson.Parse(d.req.Body[m.Value:m.End])
		d.rejectSpellings(name+".", v)
		d.rejectSpellings(name+"."+inner+".", get(v, inner))
	}
	requestFields.ReadMember(&d.Reader, []byte(m.Name), d)
	if d.Pos == m.Value {
		d.req.ExtraBytes += d.CountText(&d.req.PromptSize, rawjson.Parse(d.req.Body[m.Value:m.End])) // an unknown member may become part of the prompt
	}
}

// nestedSettings maps the name of each settings object to the name of the settings object nested in it.
var nestedSettings = map[string]string{"generationConfig": "thinkingConfig", "toolConfig": "functionCallingConfig"}

// finish sets the properties that depend on several members.
func (d *decoder) finish(body []byte) {
	switch {
	case d.schema:
		d.req.Needs |= llm.JSONSchema
	case d.json:
		d.req.Needs |= llm.JSONMode
	}
	if d.req.Choices > 1 {
		d.req.Needs |= llm.ManyChoices
	}
	if t := d.asked; t.end > 0 {
		d.req.Preview = show.Preview(string(rawjson.Unescape(nil, body[t.start:t.end], t.end-t.start)), llm.PreviewBytes)
		d.req.Asked = llm.RawText(body[t.start:t.end])
	}
	d.req.Instructed = llm.RawText(body[d.instructed.start:d.instructed.end])
}

type field = validate.Field[decoder]

// spelled returns the fields under both spellings of their names, camelCase and snake_case.
func spelled(fields ...field) (all []field) {
	for _, f := range fields {
		all = append(all, f)
		if name := snake(f.Name); name != f.Name {
			f.Name = name
			all = append(all, f)
		}
	}
	return all
}

// skipped returns a field that only the provider validates and that is not part of the prompt.
func skipped(name string) field {
	return field{Name: name, Read: func(r *validate.Reader, _ string, _ *decoder) { r.Skip() }}
}

func same(d *decoder) *decoder { return d }

var (
	requestFields = validate.NewObject(slices.Concat(validate.Controls(func(d *decoder) *llm.Request { return d.req }), spelled(
		validate.Value("contents", (*decoder).contents),
		validate.Value("systemInstruction", (*decoder).system),
		validate.Value("tools", (*decoder).tools),
		validate.Nested("generationConfig", settingFields, same),
		validate.Nested("toolConfig", validate.NewObject(spelled(
			validate.Nested("functionCallingConfig", validate.NewObject(spelled(skipped("mode"), skipped("allowedFunctionNames"))...), same),
			skipped("retrievalConfig"),
		)...), same),
		skipped("safetySettings"), skipped("cachedContent"), skipped("labels"),
	))...)

	settingFields = validate.NewObject(spelled(
		validate.Int("maxOutputTokens", 1, validate.MaxTokens, func(d *decoder, n int64) { d.req.MaxOutput = n }),
		validate.Int("candidateCount", 1, 128, func(d *decoder, n int64) { d.req.Choices = int(n) }),
		samplingField("temperature", "temperature"), samplingField("topP", "top_p"), samplingField("topK", "top_k"),
		validate.Text("responseMimeType", func(d *decoder, s string) { d.json = s == jsonType }),
		validate.Value("responseSchema", (*decoder).outputSchema),
		validate.Value("responseJsonSchema", (*decoder).outputSchema),
		validate.Nested("thinkingConfig", validate.NewObject(spelled(
			validate.Int("thinkingBudget", -1, validate.MaxTokens, func(d *decoder, n int64) { // -1 lets the model choose the budget
				d.req.Effort = llm.CustomEffort
				if n > 0 {
					d.req.Needs |= llm.Reasoning
				}
			}),
			validate.Text("thinkingLevel", func(d *decoder, level string) {
				d.req.Effort = strings.ToLower(level)
				if llm.Reasons(d.req.Effort) {
					d.req.Needs |= llm.Reasoning
				}
			}),
			validate.Bool("includeThoughts", func(*decoder, bool) {}),
		)...), same),
		skipped("stopSequences"), skipped("responseModalities"), skipped("mediaResolution"),
	)...)
)

const jsonType = "application/json"

// samplingField declares a setting that some models reject. name is its name in the other formats. Only the provider validates its value.
func samplingField(member, name string) field {
	return field{Name: member, Read: func(r *validate.Reader, _ string, d *decoder) {
		if !r.SkipNull() {
			d.req.Sampling = append(d.req.Sampling, name)
			r.Skip()
		}
	}}
}

// outputSchema checks that the output schema is an object and counts it as text, because it is part of the prompt.
func (d *decoder) outputSchema(v rawjson.Value) {
	if d.IsKind("generationConfig.responseSchema", v, "an object", rawjson.Object) {
		d.schema = true
		d.CountText(&d.req.PromptSize, v)
	}
}
