package gateway

import (
	"errors"
	"io"
	"net/http"

	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/upload"
)

// maxFeedback limits the body of a rating.
const maxFeedback = 8 << 10

// serveFeedback stores a rating of a response.
func (g *Gateway) serveFeedback(w http.ResponseWriter, r *http.Request, requestID string) {
	saved, err := g.saveRating(w, r)
	if err != nil {
		g.reject(w, r, requestID, err)
		return
	}
	writeJSON(w, r, map[string]any{
		"object": "feedback", "id": saved.ID, "request_id": saved.RequestID, "score": saved.Score, "label": saved.Label, "model": saved.Model,
	})
}

func (g *Gateway) saveRating(w http.ResponseWriter, r *http.Request) (feedback.Rating, error) {
	if err := checkOrigin(r, g.settings.Load()); err != nil {
		return feedback.Rating{}, err
	}
	grant, err := g.Keys.Authenticate(r.Header)
	if err != nil {
		return feedback.Rating{}, err
	}
	if err := checkScope(grant); err != nil { // ratings affect model calls, so they need the same scope
		return feedback.Rating{}, err
	}
	if err := upload.CheckMedia(r.Header); err != nil {
		return feedback.Rating{}, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFeedback))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return feedback.Rating{}, upload.TooLarge(maxFeedback)
	}
	if err != nil {
		return feedback.Rating{}, &llm.Error{Kind: llm.ClientCancelled, Message: "The client stopped sending before the request was complete.", Err: err}
	}
	rating, err := feedback.DecodeRating(r.Context(), body)
	if err != nil {
		return feedback.Rating{}, err
	}
	rating.WorkspaceID, rating.KeyID, rating.Source = grant.Workspace.ID, grant.Key.ID, feedback.FromAPI
	return g.Routing.Feedback.Rate(r.Context(), rating)
}
