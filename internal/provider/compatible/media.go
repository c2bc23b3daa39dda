package compatible

import (
	"context"
	"net/http"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/wire/media"
)

// passing implements provider.Exchange for audio, images and reranking. The bodies are not translated to another format.
type passing struct {
	*caller
	base string
}

var _ provider.Exchange = passing{}

func (e passing) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	if c.Request.Choices > 1 && c.Target.Price != nil && c.Target.Price.PerRequest > 0 {
		return nil, llm.Errorf(llm.Untranslatable, "%s has a price per request, so n is limited to 1.", c.Target.ID())
	}
	body, contentType, err := media.Render(c.Request, c.Target.Upstream)
	if err != nil {
		return nil, err
	}
	path := "" // path of the operation, the same for all vendors
	switch c.Request.Op {
	case llm.Speech:
		path = "/audio/speech"
	case llm.Transcribe:
		path = "/audio/transcriptions"
	case llm.GenerateImages:
		path = "/images/generations"
	case llm.Rerank:
		path = "/rerank"
	default:
	}
	r, err := e.at(e.base+path).newRequest(ctx, c.Secret, "*/*", body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", contentType)
	return r, nil
}

func (e passing) Events(c *provider.Call, resp *http.Response) llm.Stream {
	return llm.Single(media.Read(resp.Body, media.ReadOptions{
		Model: c.Target.Model.Name, ContentType: resp.Header.Get("Content-Type"), MaxResponse: e.settings.MaxResponse,
	}))
}
