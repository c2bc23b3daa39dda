package gateway

import (
	"encoding/json"
	"net/http"

	"fairlead/internal/feedback"
	"fairlead/internal/llm"
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
	var told rating
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxFeedback))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&told); err != nil {
		return feedback.Rating{}, llm.Errorf(llm.InvalidJSON, `The body is not a rating: %s. Send {"request_id": "req_…", "score": 0 to 1} or {"request_id": "req_…", "label": "good"}.`, err)
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
