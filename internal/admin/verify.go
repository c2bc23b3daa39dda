package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"fairlead/internal/account"
)

// Verification says whether a logged decision comes out the same when it is computed again.
type Verification struct {
	Same        bool         `json:"same" doc:"Everything comes out as it was logged."`
	Recomputed  bool         `json:"recomputed" doc:"It could be computed again at all; if not, missing says why."`
	Sketched    bool         `json:"sketched" doc:"What the prompt asks for was computed again too, from the stored text."`
	Differences []Difference `json:"differences" doc:"What comes out otherwise."`
	Missing     []string     `json:"missing" doc:"What the decision was made from and is not kept any more, as sentences."`
}

// Difference is one thing that comes out otherwise.
type Difference struct {
	What       string `json:"what"`
	Logged     string `json:"logged"`
	Recomputed string `json:"recomputed"`
}

func (a *API) registerVerify() {
	register(a, account.ReadRequests, huma.Operation{
		OperationID: "verify-request", Method: http.MethodGet, Path: "/requests/{id}/verify", Tags: []string{"requests"},
		Summary:     "Compute the decision of a request again and compare it with the log",
		Description: "By the targets, prices, policies and corrections of then. Nothing is sent anywhere.",
	}, a.verifyRequest)
}

func (a *API) verifyRequest(ctx context.Context, c *call, in *requestPath) (*output[Verification], error) {
	entry, err := a.entry(ctx, c.workspaceID, in.ID)
	if err != nil {
		return nil, err
	}
	result, err := a.Replayer.Verify(ctx, &entry)
	if err != nil {
		return nil, err
	}
	view := Verification{
		Same: result.Same, Recomputed: result.Same || len(result.Differences) > 0, Sketched: result.Sketched,
		Differences: make([]Difference, 0, len(result.Differences)), Missing: result.Missing,
	}
	for _, d := range result.Differences {
		view.Differences = append(view.Differences, Difference(d))
	}
	return &output[Verification]{view}, nil
}
