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
	"fairlead/internal/modelapi"
	"fairlead/internal/upload"
	"fairlead/internal/wire/show"
	"fairlead/internal/wire/strict"
)

// maxFeedback limits the body of a rating.
const maxFeedback = 8 << 10

// rating is the body of POST /feedback.
type rating struct {
	RequestID string   `json:"request_id"`
	Score     *float64 `json:"score"`
	Label     string   `json:"label"`
	Comment   string   `json:"comment"`
}

// serveFeedback stores a rating of a response.
func (g *Gateway) serveFeedback(w http.ResponseWriter, r *http.Request, requestID string) {
	saved, err := g.saveRating(w, r)
	if err != nil {
		g.reject(w, r, requestID, err)
		return
	}
	modelapi.WriteJSON(w, r, map[string]any{
		"object": "feedback", "id": saved.ID, "request_id": saved.RequestID, "score": saved.Score, "label": saved.Label, "model": saved.Model,
	})
}

func (g *Gateway) saveRating(w http.ResponseWriter, r *http.Request) (feedback.Rating, error) {
	if err := modelapi.CheckOrigin(r, g.settings.Load()); err != nil {
		return feedback.Rating{}, err
	}
	grant, err := g.Keys.Authenticate(r.Header)
	if err != nil {
		return feedback.Rating{}, err
	}
	if err := modelapi.CheckScope(grant); err != nil { // a rating changes later decisions
		return feedback.Rating{}, err
	}
	if err := upload.CheckMedia(r.Header); err != nil {
		return feedback.Rating{}, err
	}
	sent, err := decodeRating(r.Context(), http.MaxBytesReader(w, r.Body, maxFeedback))
	if err != nil {
		return feedback.Rating{}, err
	}
	score, label, err := feedback.ScoreOf(sent.Score, sent.Label)
	if err != nil {
		return feedback.Rating{}, err
	}
	return g.Routing.Feedback.Rate(r.Context(), feedback.Rating{
		RequestID: sent.RequestID, WorkspaceID: grant.Workspace.ID, KeyID: grant.Key.ID,
		Score: score, Label: label, Comment: sent.Comment, Source: feedback.FromAPI,
	})
}

// decodeRating decodes the body of a rating as strictly as model requests.
func decodeRating(ctx context.Context, r io.Reader) (sent rating, err error) {
	body, err := io.ReadAll(r)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return rating{}, upload.TooLarge(maxFeedback)
	}
	if err != nil {
		return rating{}, &llm.Error{Kind: llm.ClientCancelled, Message: "The client stopped sending before the request was complete.", Err: err}
	}
	fields, err := strict.Object(ctx, body)
	if err != nil {
		return rating{}, err
	}
	into := map[string]any{"request_id": &sent.RequestID, "score": &sent.Score, "label": &sent.Label, "comment": &sent.Comment}
	for _, f := range fields {
		target, known := into[f.Name]
		if name, found := strict.LookAlike(f.Name, "request_id", "score", "label", "comment"); found {
			return rating{}, strict.Reject(strict.Problem{Param: f.Name, Message: fmt.Sprintf("The key %s looks like %q but has another spelling. Use %q.", show.Quote(f.Name), name, name)})
		}
		if !known {
			return rating{}, strict.Reject(strict.Problem{Param: f.Name, Message: fmt.Sprintf("The field %s is unknown. A rating has request_id, score, label and comment.", show.Quote(f.Name))})
		}
		if err := json.Unmarshal(body[f.Value:f.End], target); err != nil {
			return rating{}, strict.Reject(strict.Problem{Param: f.Name, Message: fmt.Sprintf(`The field %s has the wrong type. Send {"request_id": "req_…", "score": 0 to 1} or {"request_id": "req_…", "label": "good"}.`, f.Name)})
		}
	}
	return sent, nil
}
