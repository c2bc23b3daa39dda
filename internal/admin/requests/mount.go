// Package requests serves the operations on logged requests and their sessions, and the filters and figures that other operations share.
package requests

import (
	"context"

	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/replay"
	"fairlead.dev/internal/requestlog"
)

// Deps are the dependencies of the operations.
type Deps struct {
	Requests requestlog.Reader
	Sessions requestlog.SessionReader
	Budgets  SessionBudgets
	Live     *requestlog.Feed
	Eraser   Eraser
	Verifier Verifier
	Ratings  Ratings
	// Transcript translates a stored request and its response to the chat format. It returns nil for bodies that are already in
	// the chat format.
	Transcript func(format string, body requestlog.Body) (request, response []byte)
}

type handlers struct {
	Deps
	*adminapi.Server
	tails tails
}

// Mount registers the operations.
func Mount(s *adminapi.Server, d Deps) {
	a := &handlers{Deps: d, Server: s, tails: tails{each: map[string]int{}}}
	a.registerRequests()
	a.registerSessions()
	a.registerTail()
	a.registerExport()
	a.registerErase()
	a.registerVerify()
	a.registerFeedback()
}

// Verifier recomputes logged decisions.
type Verifier interface {
	Verify(ctx context.Context, e *requestlog.Entry) (replay.Verification, error)
}

// Ratings stores ratings of responses.
type Ratings interface {
	// Rate stores a rating, which replaces an earlier one by the same rater. It returns an *llm.Error for an invalid rating.
	Rate(ctx context.Context, r feedback.Rating) (feedback.Rating, error)
	// Of returns the ratings of a request, oldest first.
	Of(ctx context.Context, workspaceID, requestID string) ([]feedback.Rating, error)
}
