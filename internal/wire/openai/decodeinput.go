package openai

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
)

// maxPromptTokens is the maximum value of max_tokens in legacy completions. The output limit of such a request is max_tokens multiplied by
// the number of prompts and completions.
const maxPromptTokens = 1 << 31

// Descriptions of the input of embeddings and completions, and of moderations.
const (
	wantInput           = "a string, a list of strings, a list of token IDs, or a list of such lists"
	wantModerationInput = "a string, a list of strings, or a list of parts"
)

// embedRequest is an embeddings request.
type embedRequest struct {
	strict.Controls
	account
	Input          jsontext.Value `json:"input"`
	Dimensions     strict.Whole   `json:"dimensions"`
	EncodingFormat string         `json:"encoding_format"`
}

// promptRequest is a legacy completions request.
type promptRequest struct {
	strict.Controls
	account
	Prompt        jsontext.Value `json:"prompt"`
	Suffix        string         `json:"suffix"`
	N             strict.Whole   `json:"n"`
	BestOf        strict.Whole   `json:"best_of"`
	MaxTokens     strict.Whole   `json:"max_tokens"`
	Stream        bool           `json:"stream"`
	StreamOptions *streamOptions `json:"stream_options"`
	Logprobs      strict.Whole   `json:"logprobs"` // number of alternatives per token
}

// moderationRequest is a moderations request.
type moderationRequest struct {
	strict.Controls
	account
	Input jsontext.Value `json:"input"`
}

func decodeEmbed(ctx context.Context, body []byte, req *llm.Request) error {
	var r embedRequest
	doc, err := strict.Decode(ctx, body, &r, strict.Rules{LongLists: true})
	if err != nil {
		return err
	}
	doc.RejectUnknownLookAlikes(&r)
	readAccount(doc, req, &r.Controls, &r.account)
	doc.Require("input", doc.Given("input"), "Send a string, a list of strings, or token IDs.")
	req.Dimensions = doc.Int("dimensions", r.Dimensions, 1, maxDimension)
	req.Base64 = doc.OneOf("encoding_format", r.EncodingFormat, "float", "base64") == "base64"
	return finishInputs(ctx, doc, req, "input", r.Input, &r)
}

func decodePrompt(ctx context.Context, body []byte, req *llm.Request) error {
	var r promptRequest
	doc, err := strict.Decode(ctx, body, &r, strict.Rules{LongLists: true})
	if err != nil {
		return err
	}
	doc.RejectUnknownLookAlikes(&r)
	readAccount(doc, req, &r.Controls, &r.account)
	doc.Require("prompt", doc.Given("prompt"), "Send a string, a list of strings, or token IDs.")
	readGeneration(doc, req, r.Stream, r.StreamOptions, r.N)
	bestOf := int(doc.Int("best_of", r.BestOf, 1, maxChoices))
	if bestOf > 1 {
		req.Needs |= llm.ManyChoices
	}
	if r.Logprobs != "" {
		req.Needs |= llm.Logprobs
	}
	if r.MaxTokens != "" {
		// A client that only scores a prompt sends 0, because it needs no output. The limit is recorded as 1, because 0 means that no limit
		// was given.
		req.MaxOutput = max(doc.Int("max_tokens", r.MaxTokens, 0, maxPromptTokens), 1)
	}
	req.CountText(r.Suffix)
	if err := finishInputs(ctx, doc, req, "prompt", r.Prompt, &r); err != nil {
		return err
	}
	// The larger of n and best_of is the number of completions per prompt. Completions that are not returned are also billed.
	req.Choices = max(req.Choices, bestOf) * max(req.Inputs, 1)
	return nil
}

func decodeModeration(ctx context.Context, body []byte, req *llm.Request) error {
	var r moderationRequest
	doc, err := strict.Decode(ctx, body, &r, strict.Rules{})
	if err != nil {
		return err
	}
	doc.RejectUnknownLookAlikes(&r)
	readAccount(doc, req, &r.Controls, &r.account)
	doc.Require("input", doc.Given("input"), "Send a string, a list of strings, or a list of parts.")
	return finishInputs(ctx, doc, req, "input", r.Input, &r)
}

// finishInputs reads the inputs, which are the value of the member name, and completes the request. r is the decoded request.
func finishInputs(ctx context.Context, doc *strict.Document, req *llm.Request, name string, value jsontext.Value, r any) error {
	for f := range doc.UnknownFields(r) {
		req.ExtraBytes += req.CountJSON(doc.Body[f.Value:f.End])
	}
	in := inputReader{Scanner: rawjson.Scanner{Data: value, Context: ctx}, doc: doc, req: req, name: name}
	if doc.Given(name) {
		in.read()
	}
	if err := llm.Cancelled(ctx); err != nil {
		return err
	}
	req.CountText(in.texts...)
	if all := req.ASCIIBytes + req.NonASCIIBytes + int(req.TokenIDs); req.Inputs > 1 && all > 0 {
		req.Longest = float64(in.longest) / float64(all)
	}
	if len(in.texts) > 0 {
		req.Asked = in.texts[0]
		req.Preview = show.Preview(in.texts[0], llm.PreviewBytes)
	}
	return doc.Finish(req, nil)
}

// inputReader reads the inputs of a request: a string, or a list whose elements all have the same type.
type inputReader struct {
	rawjson.Scanner
	doc     *strict.Document
	req     *llm.Request
	name    string
	texts   []string
	longest int // length of the longest input, in bytes or token IDs
}

func (in *inputReader) read() {
	want := wantInput
	if in.req.Op == llm.Moderate {
		want = wantModerationInput
	}
	switch in.Kind() {
	case '"':
		in.req.Inputs = 1
		if in.readText(); in.texts[0] == "" && in.req.Op == llm.Embed {
			in.doc.Problem(in.name, "%s is empty. Send a string, a list of strings, or token IDs.", in.name)
		}
	case '[':
		in.readList(want)
	default:
		in.doc.WrongType(in.name, want, in.Kind())
	}
}

func (in *inputReader) readList(want string) {
	var kind byte // kind of the first element
	count, valid := 0, true
	for n := range in.Elements {
		count++
		got := in.Kind()
		if n == 0 {
			kind = got
		}
		valid = got == kind && in.readElement(got) && valid
	}
	switch {
	case in.Err != nil: // the request is cancelled
	case !valid:
		in.doc.Problem(in.name, "%s must be %s.", in.name, want)
	case count == 0:
		in.doc.Problem(in.name, "%s is an empty list. Send at least one string.", in.name)
	case kind == '0':
		in.req.Inputs = 1
	case count > MaxInputs:
		in.doc.Problem(in.name, "%s has %d entries; at most %d are allowed in one request.", in.name, count, MaxInputs)
	case kind != '{': // the parts of a moderation form one input
		in.req.Inputs = count
	}
}

// readElement reads one element of the list and reports whether it is valid.
func (in *inputReader) readElement(kind byte) bool {
	moderation := in.req.Op == llm.Moderate
	switch {
	case kind == '"':
		in.readText()
		return true
	case kind == '{' && moderation:
		in.readPart()
		return true
	case kind == '0' && !moderation:
		return in.readTokenID()
	case kind == '[' && !moderation:
		ids, valid := 0, true
		for range in.Elements {
			ids++
			valid = valid && in.Kind() == '0' && in.readTokenID()
		}
		in.longest = max(in.longest, ids)
		return valid && ids > 0
	}
	return false
}

func (in *inputReader) readText() {
	if len(in.texts) > MaxInputs { // too many inputs are rejected
		in.Skip()
		return
	}
	text := string(in.Unquote(in.ReadString()))
	in.longest = max(in.longest, len(text))
	in.texts = append(in.texts, text)
}

func (in *inputReader) readTokenID() bool {
	n, ok := rawjson.ParseInteger(in.Number())
	in.req.TokenIDs++
	return ok && n >= 0
}

// readPart reads a text part or an image part of a moderation.
func (in *inputReader) readPart() {
	raw := in.Raw()
	var p moderationPart
	known := []string{"type", "text", "image_url"}
	rawjson.Parse(raw).ForEach(func(key, value rawjson.Value) bool {
		switch name := key.String(); name {
		case "type":
		case "text":
			p.text = value
		case "image_url":
			p.image = value
		default:
			if look, found := strict.LookAlike("input.", name, known...); found {
				in.doc.Problem(look.Param, "%s", look.Message)
			}
		}
		return true
	})
	if p.text.Kind == rawjson.Text {
		in.longest = max(in.longest, len(p.text.String()))
		in.texts = append(in.texts, p.text.String())
	}
	if p.image.Exists() {
		url := p.image.String()
		if p.image.IsObject() {
			url = p.image.Get("url").String()
		}
		in.req.Needs |= llm.Vision
		in.req.Images++
		if !llm.IsDataURL(url) {
			in.req.ImageURLs++
			return
		}
		in.req.ImageBytes += len(url)
		in.req.AddImage(llm.ImageOf(url, p.image.Get("detail").String()))
	}
}

// moderationPart holds the members of a part that the gateway reads.
type moderationPart struct{ text, image rawjson.Value }
