// Package playground serves chat requests that are sent from the dashboard.
package playground

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
)

// Playground serves chat requests of a signed-in account.
type Playground interface {
	// ServeAs serves a chat request with the given body in the same way as the model API, including errors. The workspace is charged. r has
	// the headers of the request; its body was read.
	ServeAs(w http.ResponseWriter, r *http.Request, body []byte, accountID, workspaceID string)
}

type playgroundInput struct {
	RawBody []byte `contentType:"application/json" doc:"Chat completion request in the OpenAI format. Supports auto and streaming like the model API."`
}

// Deps are the dependencies of the operations.
type Deps struct{ Playground Playground }

// Mount registers the operations.
func Mount(s *adminapi.Server, d Deps) {
	adminapi.Register(s, account.UsePlayground, huma.Operation{
		OperationID: "playground-chat", Method: http.MethodPost, Path: "/playground/chat/completions", Tags: []string{"playground"},
		SkipValidateBody: true, // the model API validates the body
		Summary:          "Send a chat completion request from the dashboard",
		Description:      "Same response as POST /proxy/v1/chat/completions, including headers, authenticated by the session.",
		Responses: map[string]*huma.Response{"200": {Description: "JSON, or server-sent events if stream is set.", Content: map[string]*huma.MediaType{
			"application/json":  {Schema: &huma.Schema{Type: huma.TypeObject}},
			"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}},
		}}},
	}, func(ctx context.Context, c *adminapi.Call, in *playgroundInput) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: func(huma.Context) {
			r, w := c.Unwrap() // the huma.Context argument is c itself, which humago.Unwrap does not accept
			d.Playground.ServeAs(w, r.WithContext(ctx), in.RawBody, c.Actor.AccountID, c.WorkspaceID)
		}}, nil
	})
}
