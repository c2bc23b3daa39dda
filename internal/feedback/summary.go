package feedback

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"fairlead.dev/internal/predict"
)

// Summary summarises the feedback of a workspace for display.
type Summary struct {
	Version string         `json:"version"` // version of the corrections
	Models  []ModelSummary `json:"models"`  // sorted by name
}

// ModelSummary summarises the ratings of one model.
type ModelSummary struct {
	Model     string        `json:"model"`
	Corrected bool          `json:"corrected"` // whether the model's ability is corrected
	Outdated  int           `json:"outdated"`  // number of ratings that are not used, because an earlier predictor classified their prompts
	Total     Figures       `json:"total"`
	Tasks     []TaskFigures `json:"tasks"` // sorted by name
}

// TaskFigures summarises the ratings for one task.
type TaskFigures struct {
	Task predict.Task `json:"task"`
	Figures
}

// Figures summarises the ratings whose prompts were classified by the current predictor.
type Figures struct {
	Ratings int       `json:"ratings"`
	Score   float64   `json:"score"`  // mean score
	Before  float64   `json:"before"` // mean predicted quality without the correction
	After   float64   `json:"after"`  // mean predicted quality with the correction
	Newest  time.Time `json:"newest"`
}

// Shift returns the change in predicted quality caused by the correction.
func (f Figures) Shift() float64 { return f.After - f.Before }

// String returns a summary such as "+0.06 on code, 214 ratings".
func (t TaskFigures) String() string {
	what := "ratings"
	if t.Ratings == 1 {
		what = "rating"
	}
	return fmt.Sprintf("%+.2f on %s, %d %s", t.Shift(), t.Task, t.Ratings, what)
}

// figureSums accumulates ratings for Figures.
type figureSums struct {
	n                    int
	score, before, after float64
	newest               time.Time
}

func (t *figureSums) add(r *Rating, before, after float64) {
	t.n++
	t.score += r.Score
	t.before += before
	t.after += after
	if r.Time.After(t.newest) {
		t.newest = r.Time
	}
}

func (t *figureSums) figures() Figures {
	n := float64(max(t.n, 1))
	return Figures{Ratings: t.n, Score: t.score / n, Before: t.before / n, After: t.after / n, Newest: t.newest}
}

// summarise compares ratings with the predictions without and with the correction. If shift is nil, both predictions are 0.
func summarise(model string, ratings []Rating, shift *Shift) ModelSummary {
	var total figureSums
	tasks := map[predict.Task]*figureSums{}
	for i := range ratings {
		r := &ratings[i]
		var before, after float64
		if shift != nil {
			features := predict.Features{Task: r.Task, Skills: r.Skills}
			before = predict.Success(&features, &predict.Ability{Vector: shift.Base}).Probability
			after = predict.Success(&features, shift.ability(r.Task)).Probability
		}
		if tasks[r.Task] == nil {
			tasks[r.Task] = &figureSums{}
		}
		tasks[r.Task].add(r, before, after)
		total.add(r, before, after)
	}
	m := ModelSummary{Model: model, Corrected: shift != nil, Total: total.figures()}
	for _, task := range slices.Sorted(maps.Keys(tasks)) {
		m.Tasks = append(m.Tasks, TaskFigures{Task: task, Figures: tasks[task].figures()})
	}
	return m
}
