package requests

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
)

// Verification is the result of recomputing a logged decision.
type Verification struct {
	Same             bool         `json:"same" doc:"Whether the recomputed decision equals the logged one."`
	Recomputed       bool         `json:"recomputed" doc:"Whether the decision could be recomputed. If not, missing lists the reasons."`
	FeaturesVerified bool         `json:"features_verified" doc:"Whether the prompt features were recomputed from the stored body."`
	Differences      []Difference `json:"differences" doc:"Differences between the logged and the recomputed decision."`
	Missing          []string     `json:"missing" doc:"Inputs of the decision that have expired."`
}

// Difference is a difference between the logged and the recomputed decision.
type Difference struct {
	What       string `json:"what"`
	Logged     string `json:"logged"`
	Recomputed string `json:"recomputed"`
}

func (a *handlers) registerVerify() {
	adminapi.Register(a.Server, account.ReadRequests, huma.Operation{
		OperationID: "verify-request", Method: http.MethodGet, Path: "/requests/{id}/verify", Tags: []string{"requests"},
		Summary:     "Verify a logged decision",
		Description: "Recomputes the decision with the targets, prices, policies and corrections of that time. Calls no provider.",
	}, func(ctx context.Context, c *adminapi.Call, in *requestPath) (*adminapi.Output[Verification], error) {
		entry, err := a.entry(ctx, c.WorkspaceID, in.ID)
		if err != nil {
			return nil, err
		}
		result, err := a.Verifier.Verify(ctx, &entry)
		if err != nil {
			return nil, err
		}
		view := Verification{
			Same: result.Same, Recomputed: result.Same || len(result.Differences) > 0, FeaturesVerified: result.FeaturesVerified,
			Differences: make([]Difference, 0, len(result.Differences)), Missing: result.Missing,
		}
		for _, d := range result.Differences {
			view.Differences = append(view.Differences, Difference(d))
		}
		return adminapi.Respond(view), nil
	})
}
