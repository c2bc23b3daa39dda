package policies

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/route"
)

// Explanation is the routing decision for a request, the error, or both.
type Explanation struct {
	Decision *route.Decision   `json:"decision,omitempty"`
	Refusal  *requests.Failure `json:"refusal,omitempty" doc:"Error the client would receive. Absent if the request would be served."`
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

func (a *handlers) registerExplain() {
	adminapi.Register(a.Server, account.ReadPolicies, huma.Operation{
		OperationID: "explain-route", Method: http.MethodPost, Path: "/routing/explain", Tags: []string{"routing"},
		Summary: "Explain how a request would be routed",
	}, func(ctx context.Context, c *adminapi.Call, in *explainInput) (*adminapi.Output[Explanation], error) {
		q := ExplainQuery{
			WorkspaceID: c.WorkspaceID, KeyID: in.Body.KeyID, Endpoint: in.Body.Endpoint, Body: in.Body.Request, Tradeoff: in.Body.Tradeoff,
		}
		if err := a.knownKey(ctx, c.WorkspaceID, q.KeyID); err != nil {
			return nil, err
		}
		if in.Body.Draft != nil {
			var err error
			if q.Draft, err = a.draft("draft", *in.Body.Draft); err != nil {
				return nil, err
			}
		}
		result, err := a.explained(ctx, q)
		if err != nil {
			return nil, err
		}
		return adminapi.Respond(result), nil
	})
}

// knownKey returns an error for an unknown key. An empty ID is allowed.
func (a *handlers) knownKey(ctx context.Context, workspaceID, keyID string) error {
	if keyID == "" {
		return nil
	}
	_, err := a.Keys.Key(ctx, workspaceID, keyID)
	return err
}

// explained returns the decision. A rejected request is part of the result, not an error.
func (a *handlers) explained(ctx context.Context, q ExplainQuery) (Explanation, error) {
	decision, err := a.Explainer.Explain(ctx, q)
	result := Explanation{Decision: decision}
	if err == nil {
		return result, nil
	}
	fault, ok := errors.AsType[*llm.Error](err)
	if !ok || decision == nil || fault.Status() >= http.StatusInternalServerError {
		return Explanation{}, err
	}
	result.Refusal = &requests.Failure{Code: fault.Kind.Code(), Message: fault.Message, Origin: string(fault.Kind.Origin())}
	return result, nil
}

// Explainer computes routing decisions without calling a provider.
type Explainer interface {
	// Explain returns the decision. If no target can serve the request, it returns the decision and an *llm.Error.
	Explain(ctx context.Context, q ExplainQuery) (*route.Decision, error)
}

// ExplainQuery is a request to explain.
type ExplainQuery struct {
	WorkspaceID string
	KeyID       string // key whose restrictions apply; empty for none
	Endpoint    string // "chat/completions" or "embeddings"
	Body        []byte
	Tradeoff    string      // value of x-fairlead-tradeoff; empty for none
	Draft       *policy.Set // policies to use, including the instance's policies; nil for the active policies
	RequestID   string      // ID of a logged request, used instead of a body
}
