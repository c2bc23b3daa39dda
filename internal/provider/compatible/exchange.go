package compatible

import (
	"context"
	"net/http"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/openai"
)

// conversation implements provider.Exchange for chat, using the chat or the Responses API.
type conversation struct {
	chat      *caller // caller for the chat API; nil if the vendor offers only the Responses API
	responses *caller // caller for the Responses API; nil if the vendor offers only chat
}

var _ provider.Exchange = conversation{}

func (e conversation) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	if e.usesResponses(c) {
		return e.responses.newResponsesRequest(ctx, c)
	}
	own, err := e.chat.row.translated(ctx, c)
	if err != nil {
		return nil, err
	}
	edit := e.chat.row.chatEdit(own)
	c.Warnings = own.Warnings
	body := openai.Pieces(own.Request, edit)
	if c.Cache.Mark != "" {
		marked, ok := wire.MarkEnd(slices.Concat(body...), c.Cache.Mark)
		if !ok {
			c.Cache.Mark = ""
		}
		body = [][]byte{marked}
	}
	return e.chat.newRequest(ctx, c.Secret, accept(c), body...)
}

// wantsStream reports whether a call requests a stream.
func wantsStream(c *provider.Call) bool { return c.Request.Stream && !c.Target.NoStream }

// accept returns the content type that a call requests.
func accept(c *provider.Call) string {
	if wantsStream(c) {
		return provider.AcceptEvents
	}
	return provider.AcceptJSON
}

func (e conversation) Events(c *provider.Call, resp *http.Response) llm.Stream {
	if e.usesResponses(c) {
		return e.responses.responsesEvents(c, resp)
	}
	answer := openai.Read(resp.Body, openai.EventOptions{
		Stream: c.Request.Stream, Counter: counter(c), ContentType: resp.Header.Get("Content-Type"), Model: c.Target.Model.Name,
		MaxLine: e.chat.settings.MaxLine, MaxResponse: e.chat.settings.MaxResponse, SizeHint: resp.ContentLength,
		UsagePath: e.chat.row.Answer.UsageAt, ReasoningOnTop: e.chat.row.Answer.ReasoningOnTop,
		Warn: func(what string) { c.Warn("%s", what) },
	})
	asFunctions := !e.chat.row.Takes.CustomTools && (c.Request.Format != openai.Name || openai.HasCustomTools(c.Request))
	if c.Request.Format == openai.Name && !c.Joins && !asFunctions {
		return answer
	}
	deltas := signedBy(c.Target.ID(), openai.Deltas(llm.All(answer)))
	if c.Request.Needs.Has(llm.Tools) && asFunctions {
		deltas = openai.FreeText(deltas, c.CustomTool())
	}
	return llm.Pull(c.Client.EncodeResponse(c.Request, c.Target.Model.Name, deltas))
}

// Failure implements provider.Exchange.
func (e conversation) Failure(c *provider.Call, resp *http.Response) *llm.Error {
	if e.usesResponses(c) {
		return e.responses.Failure(c, resp)
	}
	return e.chat.Failure(c, resp)
}

// counter returns the counter for usage that the provider does not report. It returns nil for a response that continues an interrupted
// response, because the usage is counted when the two responses are joined.
func counter(c *provider.Call) llm.Counter {
	if c.Joins {
		return nil
	}
	return c.Counter
}

// embedding implements provider.Exchange for embeddings.
type embedding struct{ *caller }

var _ provider.Exchange = embedding{}

func (e embedding) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	if e.row.Asks.NoTokenIDs && c.Request.TokenIDs > 0 {
		return nil, llm.Errorf(llm.Untranslatable, "%s accepts text for embeddings, not token IDs. Send the text.", e.row.Title)
	}
	a := adaptation{row: &e.row, call: c, edit: openai.Edit{Model: c.Target.Upstream, Rename: map[string]string{}}}
	if e.row.Asks.NoBase64 {
		a.edit.Drop = append(a.edit.Drop, "encoding_format") // every vendor returns numbers by default
	}
	a.members()
	return e.newRequest(ctx, c.Secret, provider.AcceptJSON, openai.Pieces(c.Request, a.edit)...)
}

func (e embedding) Events(c *provider.Call, resp *http.Response) llm.Stream {
	return llm.Single(openai.Embedding(resp.Body, openai.EmbedOptions{
		Inputs: c.Request.Inputs, Base64: c.Request.Base64, Model: c.Target.Model.Name,
		ContentType: resp.Header.Get("Content-Type"), MaxResponse: e.settings.MaxResponse, SizeHint: resp.ContentLength,
	}))
}

// prompting implements provider.Exchange for legacy completions.
type prompting struct{ *caller }

var _ provider.Exchange = prompting{}

func (e prompting) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	return e.newRequest(ctx, c.Secret, accept(c), openai.Pieces(c.Request, e.row.promptEdit(c))...)
}

func (e prompting) Events(c *provider.Call, resp *http.Response) llm.Stream {
	return openai.Read(resp.Body, openai.EventOptions{
		Stream: c.Request.Stream, Counter: counter(c), Bare: true, ContentType: resp.Header.Get("Content-Type"), Model: c.Target.Model.Name,
		MaxLine: e.settings.MaxLine, MaxResponse: e.settings.MaxResponse, SizeHint: resp.ContentLength,
		UsagePath: e.row.Answer.UsageAt, ReasoningOnTop: e.row.Answer.ReasoningOnTop,
		Warn: func(what string) { c.Warn("%s", what) },
	})
}

// moderation implements provider.Exchange for moderations.
type moderation struct{ *caller }

var _ provider.Exchange = moderation{}

func (e moderation) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	a := adaptation{row: &e.row, call: c, edit: openai.Edit{Model: c.Target.Upstream, Rename: map[string]string{}}}
	a.members()
	return e.newRequest(ctx, c.Secret, provider.AcceptJSON, openai.Pieces(c.Request, a.edit)...)
}

func (e moderation) Events(c *provider.Call, resp *http.Response) llm.Stream {
	return llm.Single(openai.Moderation(resp.Body, openai.ModerationOptions{
		Inputs: c.Request.Inputs, Model: c.Target.Model.Name,
		ContentType: resp.Header.Get("Content-Type"), MaxResponse: e.settings.MaxResponse, SizeHint: resp.ContentLength,
	}))
}
