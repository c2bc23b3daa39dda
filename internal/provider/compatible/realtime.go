package compatible

import (
	"context"
	"net/http"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

// realtime implements provider.Exchange for WebSocket sessions. NewRequest builds the handshake.
type realtime struct{ *caller }

var _ provider.Exchange = realtime{}

func (e realtime) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	r, err := e.newRequest(ctx, c.Secret, "*/*")
	if err != nil {
		return nil, err
	}
	r.Method = http.MethodGet
	r.Header.Del("Content-Type")
	if c.Request.Beta != "" && r.Header.Get("OpenAI-Beta") == "" { // the operator's header takes precedence
		r.Header.Set("OpenAI-Beta", c.Request.Beta)
	}
	query := r.URL.Query()
	query.Set("model", c.Target.Upstream)
	r.URL.RawQuery = query.Encode()
	return r, nil
}

// Events always returns an error. The messages of a session are not read through Events.
func (realtime) Events(*provider.Call, *http.Response) llm.Stream {
	return llm.Single(llm.Event{}, llm.Errorf(llm.UpstreamMalformed, "The provider did not open a WebSocket."))
}
