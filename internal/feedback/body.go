package feedback

import (
	"context"
	"encoding/json"
	"fmt"

	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
)

// DecodeRating decodes the body of POST /feedback as strictly as model requests.
func DecodeRating(ctx context.Context, body []byte) (r Rating, err error) {
	var score *float64
	fields, err := strict.Object(ctx, body)
	if err != nil {
		return Rating{}, err
	}
	into := map[string]any{"request_id": &r.RequestID, "score": &score, "label": &r.Label, "comment": &r.Comment}
	for _, f := range fields {
		target, known := into[f.Name]
		if !known {
			return Rating{}, strict.Reject(strict.Problem{Param: f.Name, Message: fmt.Sprintf("The field %s is unknown. A rating has request_id, score, label and comment.", show.Quote(f.Name))})
		}
		if err := json.Unmarshal(body[f.Value:f.End], target); err != nil {
			return Rating{}, strict.Reject(strict.Problem{Param: f.Name, Message: fmt.Sprintf(`The field %s has the wrong type. Send {"request_id": "req_…", "score": 0 to 1} or {"request_id": "req_…", "label": "good"}.`, f.Name)})
		}
	}
	r.Score, r.Label, err = ScoreOf(score, r.Label)
	return r, err
}
