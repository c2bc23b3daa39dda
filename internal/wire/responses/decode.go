package responses

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/validate"
)

// DecodeRequest validates a Responses request strictly and converts it. It reads the body in one pass.
func (Format) DecodeRequest(ctx context.Context, op llm.Op, body []byte) (*llm.Request, error) {
	if op != llm.Chat && op != llm.Count {
		return nil, strict.Reject(strict.Problem{Message: "The responses format does not support the operation " + string(op) + "."})
	}
	req := &llm.Request{Op: op, Payload: llm.Payload{Format: Name, Body: body}, ResponseOptions: llm.ResponseOptions{Choices: 1}}
	r := requestReader{
		Reader: validate.Reader{Scanner: rawjson.NewStrict(ctx, body)}, req: req, conv: &llm.Conversation{Choices: 1},
		source: unsafe.String(unsafe.SliceData(body), len(body)), // shares memory with body, as the conversation does; the properties of the request are copies
	}
	defer r.Release()
	r.Spans = &req.PromptSample
	if err := r.decode(); err != nil {
		return nil, err
	}
	r.Require("model", req.Model != "", `Name a model, or send "auto" to have one chosen.`)
	if req.Background && !Stores(&req.Payload) {
		r.Problem("background", "background needs a stored response. Remove store: false.")
	}
	if req.Messages == 0 && !r.stored && !r.results && r.Valid() {
		r.Problem("input", `The field "input" is missing or empty. Send a string or a list of items.`)
	}
	if err := r.Reject(); err != nil {
		return nil, err
	}
	req.Stores = Stores(&req.Payload)
	r.describe()
	r.conv.EndUser, r.conv.ServiceTier = req.EndUser, req.ServiceTier
	req.Conversation = r.conv
	return req, llm.Cancelled(ctx)
}

// decode reads every member of the body.
func (r *requestReader) decode() error {
	r.req.Fields = make([]llm.Field, 0, 16)
	top := ""
	read := func(key []byte) {
		field := llm.Field{KeyStart: r.KeyStart, Value: r.Pos}
		field.Name = r.readMember(key)
		top = field.Name
		if r.Pos == field.Value {
			r.Skip()
		}
		field.End = r.Pos
		r.req.Fields = append(r.req.Fields, field)
	}
	err := strict.Members(&r.Scanner, read)
	if err == nil && r.Err != nil {
		err = strict.Error(&r.Scanner, top)
	}
	return err
}

// readMember reads a top-level member and returns its name. The value of a member that the gateway does not decode is not read.
func (r *requestReader) readMember(key []byte) string {
	if r.Kind() == 'n' {
		r.SkipNull()
		r.RejectLookAlikes("", string(key), requestFields.Names()...)
		return string(key)
	}
	from := r.Pos
	name := requestFields.ReadMember(&r.Reader, key, r)
	if r.Pos == from && !slices.Contains(accountFields, name) {
		r.conv.DropField(name)
	}
	return name
}

// describe records the properties of the conversation that routing, limits and the log need.
func (r *requestReader) describe() {
	req := r.req
	req.Instructed = llm.RawText(r.Data[r.instructed.Start:r.instructed.End])
	if !r.asked.Empty() {
		raw := r.Data[r.asked.Start:r.asked.End]
		const lookahead = 2 * llm.PreviewBytes // number of bytes to decode; removing white space makes the preview shorter
		var room [lookahead + 4]byte
		req.Preview = show.Preview(string(rawjson.Unescape(room[:0], raw, lookahead)), llm.PreviewBytes)
		req.Asked = llm.RawText(raw)
	}
	r.describeSettings()
	req.ASCIIBytes += r.ASCII
	req.NonASCIIBytes += r.NonASCII
	req.Plain = !r.wrapped
}

// describeSettings records the properties that depend on members other than the input.
func (r *requestReader) describeSettings() {
	req, conv := r.req, r.conv
	for _, tool := range conv.Tools {
		req.Needs |= llm.Tools
		req.Hosted = req.Hosted || tool.Hosted != ""
		switch {
		case tool.Hosted == "":
		case tool.Search != nil:
			req.Needs |= llm.WebSearch
			req.MaxSearches = cmp.Or(tool.Search.MaxUses, r.maxToolCalls())
		default:
			req.Needs |= llm.ResponsesAPI
		}
	}
	need := func(yes bool, a llm.Abilities) {
		if yes {
			req.Needs |= a
		}
	}
	need(conv.ParallelTools != nil && *conv.ParallelTools, llm.ParallelTools)
	need(conv.Output.Kind == llm.OutputJSON, llm.JSONMode)
	need(conv.Output.Kind == llm.OutputSchema, llm.JSONSchema)
	need(llm.Reasons(conv.Effort.Level), llm.Reasoning)
	for _, text := range []string{conv.Output.Name, conv.Output.Description, string(conv.Output.Schema)} {
		ascii, other := bytesOf(text)
		r.ASCII, r.NonASCII = r.ASCII+ascii, r.NonASCII+other
	}
	req.Effort = cmp.Or(strings.Clone(conv.Effort.Level), req.Effort)
}

// maxToolCalls returns the maximum number of calls of provider-run tools, or 0 if the request does not set it.
func (r *requestReader) maxToolCalls() int64 {
	for _, f := range r.req.Fields {
		if f.Name == "max_tool_calls" {
			n, _ := rawjson.ParseInteger(r.req.Body[f.Value:f.End]) // 0 for any other value, which the provider rejects
			return max(n, 0)
		}
	}
	return 0
}

// describeMedia records the properties of an image, of audio or of a file.
func (r *requestReader) describeMedia(p llm.Part) {
	switch p.Kind {
	case llm.ImagePart:
		r.req.Needs |= llm.Vision
		r.req.Images++
		if p.Media.URL != "" {
			r.req.ImageURLs++
		}
		if p.Media.Data == "" || strings.HasPrefix(p.Media.Type, "image/") { // some providers accept other media in an image part
			r.req.ImageBytes += len(p.Media.Data)
			r.req.AddImage(llm.ImageOf(p.Media.Data, p.Media.Detail))
			return
		}
	case llm.AudioPart:
		r.req.Needs |= llm.AudioIn
	default:
		r.req.Needs |= llm.Files
	}
	r.req.Unsized++ // only the provider can count the tokens of audio and files
	r.req.AttachedBytes += len(p.Media.Data)
}

// count adds the length of a string in the body to the prompt size.
func (r *requestReader) count(v value) {
	if v.Kind == rawjson.Text {
		r.ASCII += v.text.ASCII
		r.NonASCII += v.text.NonASCII
		r.Spans.Add(v.text.Start, v.text.End)
	}
}

// countText adds the lengths of the given texts to the prompt size. Unlike count, it accepts text that is not a string in the body, such
// as the definition of a hosted tool. It does not add the text to the prompt sample, because the sample refers to strings in the body.
func (r *requestReader) countText(texts ...string) {
	for _, text := range texts {
		ascii, other := bytesOf(text)
		r.ASCII += ascii
		r.NonASCII += other
	}
}

// bytesOf returns the number of ASCII bytes and the number of non-ASCII bytes in text.
func bytesOf(text string) (ascii, other int) {
	for i := range len(text) {
		if text[i] < utf8.RuneSelf {
			ascii++
		}
	}
	return ascii, len(text) - ascii
}
