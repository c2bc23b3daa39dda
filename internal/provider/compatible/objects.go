package compatible

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/wire/media"
)

// objects implements provider.Exchange for files and batches. Bodies are forwarded unchanged.
type objects struct{ *caller }

var _ provider.Exchange = objects{}

func (e objects) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	op := c.Object
	u, err := url.Parse(e.url)
	if err != nil {
		return nil, err
	}
	path, escaped := u.Path, u.EscapedPath()
	for _, segment := range op.Path {
		path, escaped = path+"/"+segment, escaped+"/"+url.PathEscape(segment)
	}
	u.Path, u.RawPath = path, escaped
	r, err := e.at(u.String()).newRequest(ctx, c.Secret, "*/*", op.Body)
	if err != nil {
		return nil, err
	}
	r.Method = op.Method
	r.Header.Del("Content-Type")
	if op.ContentType != "" {
		r.Header.Set("Content-Type", op.ContentType)
	}
	return r, nil
}

// Events returns the body in chunks. Each event has the content type of the response.
func (e objects) Events(_ *provider.Call, resp *http.Response) llm.Stream {
	return &chunks{r: resp.Body, kind: media.ContentType(resp.Header.Get("Content-Type")), buffer: make([]byte, 64<<10)}
}

// chunks implements llm.Stream for a body of any length.
type chunks struct {
	r      io.Reader
	kind   string
	buffer []byte
}

// Next implements llm.Stream.
func (c *chunks) Next() (llm.Event, bool, error) {
	for {
		n, err := c.r.Read(c.buffer)
		switch {
		case n > 0: // the next call returns the error
			return llm.Event{Data: c.buffer[:n], Type: c.kind, Content: true}, true, nil
		case errors.Is(err, io.EOF):
			return llm.Event{}, false, nil
		case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
			return llm.Event{}, false, err
		case err != nil:
			return llm.Event{}, false, &llm.Error{Kind: llm.StreamInterrupted, Message: "The connection to the provider broke before the response was complete.", Err: err}
		}
	}
}

// Close implements llm.Stream.
func (c *chunks) Close() {}
