package responses

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"fairlead/internal/llm"
	"fairlead/internal/rawjson"
	"fairlead/internal/token"
	"fairlead/internal/wire/show"
	"fairlead/internal/wire/strict"
	"fairlead/internal/wire/validate"
)

// DecodeRequest validates a Responses request strictly and describes it.
func (Format) DecodeRequest(ctx context.Context, op llm.Op, body []byte) (*llm.Request, error) {
	if op != llm.Chat {
		return nil, strict.Reject(strict.Problem{Message: "The responses format does not support the operation " + string(op) + "."})
	}
	fields, err := strict.Object(ctx, body)
	if err != nil {
		return nil, err
	}
	req := &llm.Request{Op: op, Format: Name, Body: body, Fields: fields, Choices: 1}
	r := newReader(ctx, req)
	if err := r.read(); err != nil {
		return nil, err
	}
	r.Require("model", req.Model != "", `Name a model, or send "auto" to have one chosen.`)
	if req.Background && !Stores(req) {
		r.Problem("background", "background needs a stored response. Remove store: false.")
	}
	if len(r.conv.Messages) == 0 && !r.stored && !r.results && r.Valid() {
		r.Problem("input", `The field "input" is missing or empty. Send a text or a list of items.`)
	}
	if err := r.Reject(); err != nil {
		return nil, err
	}
	r.describe()
	return req, llm.Cancelled(ctx)
}

// Conversation converts a validated request.
func (Format) Conversation(ctx context.Context, req *llm.Request) (*llm.Conversation, error) {
	own := *req // decoding again must not change the request
	r := newReader(ctx, &own)
	if err := r.read(); err != nil {
		return nil, err
	}
	if err := r.Reject(); err != nil {
		return nil, err
	}
	return r.conv, nil
}

func newReader(ctx context.Context, req *llm.Request) *requestReader {
	return &requestReader{
		Reader: validate.Reader{Scanner: rawjson.Scanner{Data: req.Body, Context: ctx}},
		req:    req, conv: &llm.Conversation{Choices: 1},
	}
}

// read decodes every field. Instructions go first, in any order of members. It returns an error when the context ends.
func (r *requestReader) read() error {
	for _, f := range r.req.Fields {
		r.Pos = f.Value
		if r.SkipNull() {
			r.RejectLookAlikes("", f.Name, requestFields.Names()...)
			continue
		}
		requestFields.ReadMember(&r.Reader, []byte(f.Name), r)
		if r.Pos == f.Value && !slices.Contains(accountFields, f.Name) {
			r.dropField(f.Name)
		}
	}
	r.conv.EndUser, r.conv.ServiceTier = r.req.EndUser, r.req.ServiceTier
	r.readInput(r.input)
	return llm.Cancelled(r.Context)
}

// describe records the properties of the conversation that routing, limits and the log need.
func (r *requestReader) describe() {
	req, conv := r.req, r.conv
	req.Messages = len(conv.Messages)
	for _, m := range conv.Messages {
		if r.Context.Err() != nil {
			return
		}
		r.describeParts(m.Parts)
		i := slices.IndexFunc(m.Parts, func(p llm.Part) bool { return p.Kind == llm.TextPart })
		switch {
		case m.Role == llm.Assistant:
			req.Answers++
		case i < 0:
		case m.Role == llm.User:
			req.Preview, req.Asked = show.Preview(m.Parts[i].Text, llm.PreviewBytes), llm.PlainText(m.Parts[i].Text)
		case req.Instructed.Empty():
			req.Instructed = llm.PlainText(m.Parts[i].Text)
		}
	}
	for _, tool := range conv.Tools {
		req.Needs |= llm.Tools
		req.Hosted = req.Hosted || tool.Hosted != ""
		switch {
		case tool.Hosted == "":
		case tool.Search != nil:
			req.Needs |= llm.WebSearch
		default:
			req.Needs |= llm.ResponsesAPI
		}
		r.count(tool.Name, tool.Description, string(tool.Schema), string(tool.Format), string(tool.Raw))
	}
	r.need(conv.ParallelTools != nil && *conv.ParallelTools, llm.ParallelTools)
	r.need(conv.Output.Kind == llm.OutputJSON, llm.JSONMode)
	r.need(conv.Output.Kind == llm.OutputSchema, llm.JSONSchema)
	r.count(conv.Output.Name, conv.Output.Description, string(conv.Output.Schema))
	req.Effort = conv.Effort.Level
	r.need(llm.Reasons(conv.Effort.Level), llm.Reasoning)
}

func (r *requestReader) need(yes bool, a llm.Abilities) {
	if yes {
		r.req.Needs |= a
	}
}

func (r *requestReader) describeParts(parts []llm.Part) {
	for _, p := range parts {
		r.count(p.Text)
		switch p.Kind {
		case llm.ImagePart:
			r.req.Needs |= llm.Vision
			r.req.Images++
			if p.Media.URL != "" {
				r.req.ImageURLs++
			}
			if p.Media.Data != "" && !strings.HasPrefix(p.Media.Type, "image/") { // some providers accept other media here
				r.attachment(p.Media)
				continue
			}
			r.req.ImageBytes += len(p.Media.Data)
			r.req.AddImage(token.ImageOf(p.Media.Data, p.Media.Detail))
		case llm.AudioPart:
			r.req.Needs |= llm.AudioIn
			r.attachment(p.Media)
		case llm.FilePart:
			r.req.Needs |= llm.Files
			r.attachment(p.Media)
		case llm.ThinkingPart:
			r.count(p.Thinking.Text)
		case llm.CallPart:
			r.count(p.Call.ID, p.Call.Name, p.Call.Arguments)
		case llm.ResultPart:
			r.count(p.Result.ID)
			r.describeParts(p.Result.Parts)
		default:
		}
	}
}

// attachment counts media whose tokens only the provider can count.
func (r *requestReader) attachment(m *llm.Media) {
	r.req.Unsized++
	r.req.AttachedBytes += len(m.Data)
}

// count adds text to the prompt.
func (r *requestReader) count(texts ...string) {
	for _, text := range texts {
		ascii, other := bytesOf(text)
		r.req.ASCIIBytes += ascii
		r.req.NonASCIIBytes += other
		r.req.Text.Add(text)
	}
}

// bytesOf counts the bytes of a text inside and outside ASCII.
func bytesOf(text string) (ascii, other int) {
	for i := range len(text) {
		if text[i] < utf8.RuneSelf {
			ascii++
		}
	}
	return ascii, len(text) - ascii
}
