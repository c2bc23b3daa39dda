package requests

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/feedback"
)

// RatingView is a rating of a response.
type RatingView struct {
	ID        string    `json:"id"`
	RequestID string    `json:"request_id"`
	At        time.Time `json:"at"`
	Score     float64   `json:"score" doc:"From 0 (bad) to 1 (good)."`
	Label     *string   `json:"label" doc:"Label that was submitted instead of a score."`
	Comment   *string   `json:"comment" doc:"null for callers without read_bodies."`
	Source    string    `json:"source" enum:"api,dashboard"`
	KeyID     *string   `json:"key_id"`
	AccountID *string   `json:"account_id"`
	Mine      bool      `json:"mine" doc:"Whether the caller submitted this rating. A new rating replaces it."`
	Model     string    `json:"model" doc:"Model that served the request."`
	Task      string    `json:"task" doc:"Task of the prompt according to the predictor. Empty if it was not classified."`
}

// RatingList holds the ratings of a request.
type RatingList struct {
	Ratings []RatingView `json:"ratings" doc:"Oldest first."`
}

func (a *handlers) registerFeedback() {
	adminapi.Register(a.Server, account.UsePlayground, huma.Operation{
		OperationID: "rate-request", Method: http.MethodPost, Path: "/requests/{id}/feedback", Tags: []string{"requests"},
		Summary:     "Rate a response",
		Description: "Replaces an earlier rating by the same account. Ratings adjust the predicted quality of models in this workspace.",
	}, a.rateRequest)
	adminapi.Register(a.Server, account.ReadRequests, huma.Operation{
		OperationID: "get-request-feedback", Method: http.MethodGet, Path: "/requests/{id}/feedback", Tags: []string{"requests"},
		Summary: "List the ratings of a response",
	}, func(ctx context.Context, c *adminapi.Call, in *requestPath) (*adminapi.Output[RatingList], error) {
		if _, err := a.entry(ctx, c.WorkspaceID, in.ID); err != nil {
			return nil, err
		}
		ratings, err := a.Ratings.Of(ctx, c.WorkspaceID, in.ID)
		if err != nil {
			return nil, err
		}
		list := RatingList{Ratings: make([]RatingView, len(ratings))}
		for i := range ratings {
			list.Ratings[i] = ratingView(&ratings[i], c.Actor)
		}
		return adminapi.Respond(list), nil
	})
}

type rateRequestInput struct {
	ID   string `path:"id" maxLength:"64" doc:"Request ID."`
	Body struct {
		Score   *float64 `json:"score,omitempty" minimum:"0" maximum:"1" doc:"From 0 (bad) to 1 (good)."`
		Label   string   `json:"label,omitempty" maxLength:"50" doc:"Label instead of a score, such as good, ok or bad."`
		Comment string   `json:"comment,omitempty" maxLength:"500"`
	}
}

func (a *handlers) rateRequest(ctx context.Context, c *adminapi.Call, in *rateRequestInput) (*adminapi.Output[RatingView], error) {
	score, label, err := feedback.ScoreOf(in.Body.Score, in.Body.Label)
	if err != nil {
		return nil, err
	}
	given := feedback.Rating{
		RequestID: in.ID, WorkspaceID: c.WorkspaceID, AccountID: c.Actor.AccountID, KeyID: c.Actor.KeyID,
		Score: score, Label: label, Comment: in.Body.Comment, Source: feedback.FromDashboard,
	}
	ratings, err := a.Ratings.Of(ctx, given.WorkspaceID, given.RequestID)
	if err != nil {
		return nil, err
	}
	var before any // previous rating by the same rater
	if i := slices.IndexFunc(ratings, func(r feedback.Rating) bool { return r.Rater() == given.Rater() }); i >= 0 {
		before = notedRating{Score: ratings[i].Score, Label: ratings[i].Label}
	}
	saved, err := a.Ratings.Rate(ctx, given)
	if err != nil {
		return nil, err
	}
	if err := a.Record(ctx, c.Actor, "request.rate", in.ID, before, notedRating{Score: saved.Score, Label: saved.Label}); err != nil {
		return nil, err
	}
	return adminapi.Respond(ratingView(&saved, c.Actor)), nil
}

// notedRating describes a rating in the audit log, without the comment.
type notedRating struct {
	Score float64 `json:"score"`
	Label string  `json:"label,omitempty"`
}

func ratingView(r *feedback.Rating, by account.Actor) RatingView {
	v := RatingView{
		ID: r.ID, RequestID: r.RequestID, At: r.Time.UTC(), Score: r.Score, Label: adminapi.NonEmpty(r.Label), Comment: adminapi.NonEmpty(r.Comment),
		Source: string(r.Source), KeyID: adminapi.NonEmpty(r.KeyID), AccountID: adminapi.NonEmpty(r.AccountID),
		Mine:  r.AccountID == by.AccountID && r.KeyID == by.KeyID,
		Model: r.Model, Task: string(r.Task),
	}
	if !by.May(account.ReadBodies) {
		v.Comment = nil // the comment can quote the response
	}
	return v
}
