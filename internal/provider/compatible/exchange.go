package compatible

import (
	"context"
	"net/http"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/wire/chat"
	"fairlead/internal/wire/chatconv"
	"fairlead/internal/wire/chatstream"
	"fairlead/internal/wire/embeddings"
)

// conversation implements provider.Exchange for chat.
type conversation struct{ *caller }

var _ provider.Exchange = conversation{}

func (e conversation) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	accept := provider.AcceptJSON
	if c.Request.Stream {
		accept = provider.AcceptEvents
	}
	if c.Request.Format == chat.Name {
		return e.newRequest(ctx, c.Secret, chat.Render(c.Request, e.row.chatEdit(c)), accept)
	}
	own, err := e.row.translated(ctx, c)
	if err != nil {
		return nil, err
	}
	edit := e.row.chatEdit(own)
	c.Warnings = own.Warnings
	return e.newRequest(ctx, c.Secret, chat.Render(own.Request, edit), accept)
}

func (e conversation) Events(c *provider.Call, resp *http.Response) llm.Stream {
	answer := chatstream.Read(resp.Body, chatstream.EventOptions{
		Stream: c.Request.Stream, Counter: counter(c), ContentType: resp.Header.Get("Content-Type"), Model: c.Target.Model.Name,
		MaxLine: e.settings.MaxLine, MaxAnswer: e.settings.MaxAnswer, SizeHint: resp.ContentLength,
		UsagePath: e.row.Answer.UsageAt, ReasoningOnTop: e.row.Answer.ReasoningOnTop,
		Warn: func(what string) { c.Warn("%s", what) },
	})
	if c.Request.Format == chat.Name && !c.Joins {
		return answer
	}
	return llm.Pull(c.Client.EncodeResponse(c.Request, c.Target.Model.Name, signedBy(c.Target.Provider, chatconv.Deltas(llm.All(answer)))))
}

// counter estimates usage that the provider does not report. A continuation is counted where it is joined.
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
		return nil, llm.Errorf(llm.Untranslatable, "%s embeds text, not token ids. Send the text.", e.row.Title)
	}
	return e.newRequest(ctx, c.Secret, chat.Render(c.Request, e.row.embedEdit(c)), provider.AcceptJSON)
}

func (e embedding) Events(c *provider.Call, resp *http.Response) llm.Stream {
	return llm.Single(embeddings.Embedding(resp.Body, embeddings.EmbedOptions{
		Inputs: c.Request.Inputs, Base64: c.Request.Base64, Model: c.Target.Model.Name,
		ContentType: resp.Header.Get("Content-Type"), MaxAnswer: e.settings.MaxAnswer, SizeHint: resp.ContentLength,
	}))
}

// prompting implements provider.Exchange for legacy completions.
type prompting struct{ *caller }

var _ provider.Exchange = prompting{}

func (e prompting) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	accept := provider.AcceptJSON
	if c.Request.Stream {
		accept = provider.AcceptEvents
	}
	return e.newRequest(ctx, c.Secret, chat.Render(c.Request, e.row.promptEdit(c)), accept)
}

func (e prompting) Events(c *provider.Call, resp *http.Response) llm.Stream {
	return chatstream.Read(resp.Body, chatstream.EventOptions{
		Stream: c.Request.Stream, Counter: counter(c), Bare: true, ContentType: resp.Header.Get("Content-Type"), Model: c.Target.Model.Name,
		MaxLine: e.settings.MaxLine, MaxAnswer: e.settings.MaxAnswer, SizeHint: resp.ContentLength,
		UsagePath: e.row.Answer.UsageAt, ReasoningOnTop: e.row.Answer.ReasoningOnTop,
		Warn: func(what string) { c.Warn("%s", what) },
	})
}

// moderation implements provider.Exchange for moderations.
type moderation struct{ *caller }

var _ provider.Exchange = moderation{}

func (e moderation) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	return e.newRequest(ctx, c.Secret, chat.Render(c.Request, e.row.moderateEdit(c)), provider.AcceptJSON)
}

func (e moderation) Events(c *provider.Call, resp *http.Response) llm.Stream {
	return llm.Single(embeddings.Moderation(resp.Body, embeddings.ModerationOptions{
		Inputs: c.Request.Inputs, Model: c.Target.Model.Name,
		ContentType: resp.Header.Get("Content-Type"), MaxAnswer: e.settings.MaxAnswer, SizeHint: resp.ContentLength,
	}))
}
