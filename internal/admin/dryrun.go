package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"fairlead/internal/account"
	"fairlead/internal/llm"
	"fairlead/internal/route"
)

// Explanation is the decision that would be made, or why there would be none.
type Explanation struct {
	Decision *route.Decision `json:"decision,omitempty"`
	Refusal  *Failure        `json:"refusal,omitempty" doc:"Error the client would receive. Absent if the request would be served."`
}

type explainInput struct {
	Body struct {
		Endpoint string          `json:"endpoint,omitempty" enum:"chat/completions,embeddings" default:"chat/completions"`
		KeyID    string          `json:"key_id,omitempty" maxLength:"64" doc:"Key whose restrictions apply. None if omitted."`
		Tradeoff string          `json:"tradeoff,omitempty" maxLength:"20" doc:"Value of x-fairlead-tradeoff: 0 cheapest, 1 best."`
		Request  json.RawMessage `json:"request" doc:"Request body as sent by a client."`
		Draft    *string         `json:"draft,omitempty" maxLength:"65536" doc:"Policy draft as YAML, used instead of the workspace's policies."`
	}
}

func (a *API) registerExplain() {
	register(a, account.ReadPolicies, huma.Operation{
		OperationID: "explain-route", Method: http.MethodPost, Path: "/routing/explain", Tags: []string{"routing"},
		Summary: "Explain how a request would be routed",
	}, a.explainRoute)
}

func (a *API) explainRoute(ctx context.Context, c *call, in *explainInput) (*output[Explanation], error) {
	q := ExplainQuery{
		WorkspaceID: c.workspaceID, KeyID: in.Body.KeyID, Endpoint: in.Body.Endpoint, Body: in.Body.Request, Tradeoff: in.Body.Tradeoff,
	}
	if err := a.knownKey(ctx, c.workspaceID, q.KeyID); err != nil {
		return nil, err
	}
	if in.Body.Draft != nil {
		var err error
		if q.Draft, err = a.draft("draft", *in.Body.Draft); err != nil {
			return nil, err
		}
	}
	answer, err := a.explained(ctx, q)
	if err != nil {
		return nil, err
	}
	return &output[Explanation]{answer}, nil
}

// knownKey refuses the id of a key that the workspace does not have; empty is none.
func (a *API) knownKey(ctx context.Context, workspaceID, keyID string) error {
	if keyID == "" {
		return nil
	}
	_, err := a.Keys.Key(ctx, workspaceID, keyID)
	return err
}

// explained decides. That a request would be refused is an answer; only what keeps from deciding is an error.
func (a *API) explained(ctx context.Context, q ExplainQuery) (Explanation, error) {
	decision, err := a.Explainer.Explain(ctx, q)
	answer := Explanation{Decision: decision}
	if err == nil {
		return answer, nil
	}
	fault, ok := errors.AsType[*llm.Error](err)
	if !ok || decision == nil || fault.Status() >= http.StatusInternalServerError {
		return Explanation{}, err
	}
	answer.Refusal = &Failure{Code: fault.Kind.Code(), Message: fault.Message, Origin: string(fault.Kind.Origin())}
	return answer, nil
}
