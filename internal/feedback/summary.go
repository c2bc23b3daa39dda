package feedback

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"fairlead/internal/predict"
)

// Summary is what a workspace's feedback comes to, for people to look at.
type Summary struct {
	Version string         `json:"version"` // of the corrections
	Models  []ModelSummary `json:"models"`  // sorted by name
	Signals []SignalCount  `json:"signals"` // of the last days; they correct nothing
}

// ModelSummary is what ratings say about one model.
type ModelSummary struct {
	Model     string        `json:"model"`
	Corrected bool          `json:"corrected"` // false without ratings that count, and for a model that is not here any more
	Outdated  int           `json:"outdated"`  // ratings that count no longer, because an earlier predictor saw their prompts
	Total     Figures       `json:"total"`
	Tasks     []TaskFigures `json:"tasks"` // sorted by name
}

// TaskFigures are the figures of one task.
type TaskFigures struct {
	Task predict.Task `json:"task"`
	Figures
}

// Figures sum up ratings that count.
type Figures struct {
	Ratings int       `json:"ratings"`
	Score   float64   `json:"score"`  // their mean
	Before  float64   `json:"before"` // mean of the predicted chances without the correction
	After   float64   `json:"after"`  // and with it
	Newest  time.Time `json:"newest"`
}

// Shift is what the correction changes, in chances of a good answer.
func (f Figures) Shift() float64 { return f.After - f.Before }

// String tells it in words, such as "+0.06 on code, 214 ratings".
func (t TaskFigures) String() string {
	what := "ratings"
	if t.Ratings == 1 {
		what = "rating"
	}
	return fmt.Sprintf("%+.2f on %s, %d %s", t.Shift(), t.Task, t.Ratings, what)
}

// tally adds up ratings for Figures.
type tally struct {
	n                    int
	score, before, after float64
	newest               time.Time
}

func (t *tally) add(r *Rating, before, after float64) {
	t.n++
	t.score += r.Score
	t.before += before
	t.after += after
	if r.Time.After(t.newest) {
		t.newest = r.Time
	}
}

func (t *tally) figures() Figures {
	n := float64(max(t.n, 1))
	return Figures{Ratings: t.n, Score: t.score / n, Before: t.before / n, After: t.after / n, Newest: t.newest}
}

// summarise compares what was rated with what was and is predicted. Without a shift nothing is predicted.
func summarise(model string, ratings []Rating, shift *Shift) ModelSummary {
	var total tally
	tasks := map[predict.Task]*tally{}
	for i := range ratings {
		r := &ratings[i]
		var before, after float64
		if shift != nil {
			sketch := predict.Features{Task: r.Task, Skills: r.Skills}
			before = predict.Success(&sketch, &predict.Ability{Vector: shift.Base}).Chance
			after = predict.Success(&sketch, &shift.Corrected).Chance
		}
		if tasks[r.Task] == nil {
			tasks[r.Task] = &tally{}
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
