package compatible

import (
	"context"
	"iter"
	"net/http"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/wire/chat"
)

const (
	acceptJSON   = "application/json"
	acceptEvents = "text/event-stream"
)

// conversation is how a vendor answers conversations.
type conversation struct{ caller }

var _ provider.Exchange = conversation{}

func (e conversation) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	accept := acceptJSON
	if c.Request.Stream {
		accept = acceptEvents
	}
	return e.newRequest(ctx, c.Secret, chat.Render(c.Request, e.vendor.chatEdit(c)), accept)
}

func (e conversation) Events(c *provider.Call, resp *http.Response) iter.Seq2[llm.Event, error] {
	return chat.Events(resp.Body, chat.EventOptions{
		Stream: c.Request.Stream, ContentType: resp.Header.Get("Content-Type"), Model: c.Target.Model.Name,
		MaxLine: e.settings.MaxLine, MaxAnswer: e.settings.MaxAnswer, SizeHint: resp.ContentLength,
		UsagePath: e.vendor.Answer.UsageAt, ReasoningOnTop: e.vendor.Answer.ReasoningOnTop,
		Warn: func(what string) { warn(c, "%s", what) },
	})
}

// embedding is how a vendor embeds texts.
type embedding struct{ caller }

var _ provider.Exchange = embedding{}

func (e embedding) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	if e.vendor.Asks.NoTokenIDs && c.Request.TokenIDs > 0 {
		return nil, llm.Errorf(llm.InvalidRequest, "%s embeds text, not token ids. Send the text.", e.vendor.Title)
	}
	return e.newRequest(ctx, c.Secret, chat.Render(c.Request, e.vendor.embedEdit(c)), acceptJSON)
}

func (e embedding) Events(c *provider.Call, resp *http.Response) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		yield(chat.Embedding(resp.Body, chat.EmbedOptions{
			Inputs: c.Request.Inputs, Base64: c.Request.Base64, Model: c.Target.Model.Name,
			ContentType: resp.Header.Get("Content-Type"), MaxAnswer: e.settings.MaxAnswer, SizeHint: resp.ContentLength,
		}))
	}
}
