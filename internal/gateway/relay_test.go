package gateway

import (
	"context"
	"net/http"
	"testing"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/modelapi"
	"fairlead.dev/internal/upload"
	"fairlead.dev/internal/wire"
)

// undecodable is a format whose requests must not be decoded.
type undecodable struct {
	wire.Format
	t *testing.T
}

func (u undecodable) DecodeRequest(context.Context, llm.Op, []byte) (*llm.Request, error) {
	u.t.Error("the request of a disconnected client was decoded")
	return &llm.Request{}, nil
}

func TestRequestOfADisconnectedClientIsNotDecoded(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	in := &incoming{Request: modelapi.Request{HTTP: r, Route: modelapi.Route{Format: undecodable{t: t}}}}
	_, err = (&Gateway{}).decodeBody(in, "", &upload.Body{Bytes: make([]byte, upload.Large)})
	if err == nil || llm.AsError(err).Kind != llm.ClientCancelled {
		t.Errorf("got %v, want ClientCancelled", err)
	}
}
