package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"fairlead/internal/feedback"
	"fairlead/internal/llm"
	"fairlead/internal/wire/show"
	"fairlead/internal/wire/strict"
)

// maxFeedback bounds the body of a rating.
const maxFeedback = 8 << 10

// rating is what POST /feedback takes.
type rating struct {
	RequestID string   `json:"request_id"`
	Score     *float64 `json:"score"`
	Label     string   `json:"label"`
	Comment   string   `json:"comment"`
}

// rate takes what a caller says about an answer.
func (g *Gateway) rate(w http.ResponseWriter, r *http.Request, requestID string) {
	saved, err := g.takeRating(w, r)
	if err != nil {
		g.refuse(w, r, requestID, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	body, err := json.Marshal(map[string]any{
		"object": "feedback", "id": saved.ID, "request_id": saved.RequestID, "score": saved.Score, "label": saved.Label, "model": saved.Model,
	})
	if err != nil {
		g.refuse(w, r, requestID, err)
		return
	}
	_, _ = w.Write(body) // a client that left has nothing to be told
}

func (g *Gateway) takeRating(w http.ResponseWriter, r *http.Request) (feedback.Rating, error) {
	if !g.settings.Load().AllowBrowsers && fromPage(r.Header) && !fromDashboard(r) {
		return feedback.Rating{}, browserRefused()
	}
	grant, err := g.Keys.Authenticate(r.Header)
	if err != nil {
		return feedback.Rating{}, err
	}
	if err := mayInfer(grant); err != nil { // a rating changes what is chosen
		return feedback.Rating{}, err
	}
	if err := checkMedia(r.Header); err != nil {
		return feedback.Rating{}, err
	}
	told, err := decodeRating(r.Context(), http.MaxBytesReader(w, r.Body, maxFeedback))
	if err != nil {
		return feedback.Rating{}, err
	}
	score, label, err := feedback.ScoreOf(told.Score, told.Label)
	if err != nil {
		return feedback.Rating{}, err
	}
	return g.Feedback.Rate(r.Context(), feedback.Rating{
		RequestID: told.RequestID, WorkspaceID: grant.Workspace.ID, KeyID: grant.Key.ID,
		Score: score, Label: label, Comment: told.Comment, Source: feedback.FromAPI,
	})
}

// decodeRating reads the body of a rating as strictly as model requests are read.
func decodeRating(ctx context.Context, r io.Reader) (told rating, err error) {
	body, err := io.ReadAll(r)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return rating{}, tooLarge(maxFeedback)
	}
	if err != nil {
		return rating{}, &llm.Error{Kind: llm.ClientCancelled, Message: "The client stopped sending before the request was complete.", Err: err}
	}
	fields, err := strict.Object(ctx, body)
	if err != nil {
		return rating{}, err
	}
	into := map[string]any{"request_id": &told.RequestID, "score": &told.Score, "label": &told.Label, "comment": &told.Comment}
	for _, f := range fields {
		target, known := into[f.Name]
		if name, found := strict.LookAlike(f.Name, "request_id", "score", "label", "comment"); found {
			return rating{}, strict.Reject(strict.Problem{Param: f.Name, Message: fmt.Sprintf("The key %s looks like %q but is written differently. Spell it %q.", show.Quote(f.Name), name, name)})
		}
		if !known {
			return rating{}, strict.Reject(strict.Problem{Param: f.Name, Message: fmt.Sprintf("The field %s is unknown. A rating has request_id, score, label and comment.", show.Quote(f.Name))})
		}
		if err := json.Unmarshal(body[f.Value:f.End], target); err != nil {
			return rating{}, strict.Reject(strict.Problem{Param: f.Name, Message: fmt.Sprintf(`The field %s has the wrong type. Send {"request_id": "req_…", "score": 0 to 1} or {"request_id": "req_…", "label": "good"}.`, f.Name)})
		}
	}
	return told, nil
}
