package compatible

import (
	"context"
	"net/http"
	"net/url"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/wire/responses"
	"fairlead.dev/internal/wire/upstream"
)

// storedResponses implements provider.Exchange for operations on stored responses.
type storedResponses struct{ *caller }

var _ provider.Exchange = storedResponses{}

func (e storedResponses) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	op := c.Operation
	u, err := url.Parse(e.url)
	if err != nil {
		return nil, err
	}
	path, escaped := u.Path+"/"+op.Response.ID, u.EscapedPath()+"/"+url.PathEscape(op.Response.ID)
	if op.Part != "" {
		path, escaped = path+"/"+op.Part, escaped+"/"+op.Part
	}
	u.Path, u.RawPath = path, escaped
	query := u.Query()
	for name, values := range op.Query {
		if _, ours := query[name]; !ours { // the API version of the provider takes precedence
			query[name] = values
		}
	}
	u.RawQuery = query.Encode()
	accept := provider.AcceptJSON
	if op.Stream {
		accept = provider.AcceptEvents
	}
	r, err := e.at(u.String()).newRequest(ctx, c.Secret, accept)
	if err != nil {
		return nil, err
	}
	if r.Method = op.Method; op.Method != http.MethodPost {
		r.Header.Del("Content-Type")
	}
	return r, nil
}

func (e storedResponses) Events(c *provider.Call, resp *http.Response) llm.Stream {
	op := c.Operation
	return responses.ReadStored(resp.Body, responses.Options{
		Reading: upstream.Reading{
			Stream: op.Stream, ContentType: resp.Header.Get("Content-Type"), MaxLine: e.settings.MaxLine, MaxResponse: e.settings.MaxResponse,
		},
		ModelName: op.ModelName, ResponseID: func(id string) string { return c.ResponseID(op.Response.Provider, id) },
	})
}
