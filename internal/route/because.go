package route

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/route/predict"
)

// maxBecause is the maximum length of the sentence in characters.
const maxBecause = 160

// because returns the reason for the choice in one sentence.
func (r *ranking) because(d *Decision) string {
	first := r.ready[0]
	name := first.Model
	if first.Effort != "" && first.Effort != "none" {
		name += " (" + first.Effort + " effort)"
	}
	switch {
	case d.Kind == Policy && d.Alone != "":
		return clip(fmt.Sprintf("Policy %s chose %s instead of %s.", d.Policy, name, modelOf(d.Alone)))
	case d.Kind == Policy:
		return clip(fmt.Sprintf("Policy %s chose %s.", d.Policy, name))
	case d.Kind == Fallback:
		return clip(fmt.Sprintf("%s is next in line: %s is unavailable (%s).", name, r.ranked[0].Target, r.ranked[0].excluded.Reason()))
	case !r.in.Routed():
		return clip(r.namedBecause(first))
	case r.in.Op != llm.Chat && r.in.Op != llm.Complete:
		return clip(fmt.Sprintf("%s is the best target for this request by cost and speed.", first.Target))
	case d.HeldOut != "":
		return clip(fmt.Sprintf("%s serves a share of the requests for comparison; auto chose %s.", name, modelOf(d.HeldOut)))
	case r.in.Route.shareModel(r.in.Draw) == first.Model:
		return clip(fmt.Sprintf("A fixed share of the sessions of %s goes to %s.", r.in.Route.Name, name))
	case d.Stay != nil:
		return clip(r.stayBecause(d.Stay, first))
	}
	return clip(r.opening(d) + r.comparison(name, first))
}

func modelOf(target string) string { return target[strings.IndexByte(target, '/')+1:] }

// namedBecause explains the choice among the targets of a named model.
func (r *ranking) namedBecause(first *candidate) string {
	providers := 0
	for _, cand := range r.ready {
		if cand.Model == first.Model {
			providers++
		}
	}
	switch {
	case first.fallbackOrder > 0:
		return fmt.Sprintf("%s is the next of the models that the request lists.", first.Model)
	case providers > 1:
		return fmt.Sprintf("The request asks for %s; %s is the best of %d providers.", r.in.Model, first.Provider, providers)
	}
	return fmt.Sprintf("The request asks for %s.", r.in.Model)
}

// stayBecause explains why the conversation keeps its model.
func (r *ranking) stayBecause(s *Stay, first *candidate) string {
	other := modelOf(s.Alternative)
	switch s.Reason {
	case StayLoop:
		return fmt.Sprintf("Kept %s: the tool loop makes progress, and %s would have to start without its cached prompt and reasoning.", first.Model, other)
	case StayCache:
		return fmt.Sprintf("Kept %s: %s would have to read the prompt again, for %s more.", first.Model, other, s.Switch.Display())
	case StayGain:
	}
	return fmt.Sprintf("Kept %s for this conversation: %s is neither %d points better nor half the cost.", first.Model, other, int(100*stayPoints))
}

// opening says what made the request different from its text: trouble, housekeeping, an almost spent budget.
func (r *ranking) opening(d *Decision) string {
	for _, a := range d.Adjustments {
		switch a.Code {
		case Escalated:
			return sentenceStart(a.Reason) + ": "
		case Downgraded:
			return "The budget is almost spent: "
		case Housekeeping:
			return "Client's own call: "
		case Inherited, Recovered:
		}
	}
	return ""
}

func sentenceStart(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// comparison compares the choice with the next better and the next cheaper model.
func (r *ranking) comparison(name string, first *candidate) string {
	task, chance := taskName(&r.in.Features), percent(first.Quality)
	better, cheaper := r.neighbours(first)
	switch {
	case len(r.ready) == 1:
		return fmt.Sprintf("%s is the only model that can serve this request.", name)
	case r.ordered(first):
		return fmt.Sprintf("%s is first in the order that the request or a policy sets.", name)
	case r.criterion == byPrice:
		return fmt.Sprintf("%s is the cheapest model, by which the request sorts (%d %% chance of success).", name, chance)
	case r.criterion == bySpeed:
		return fmt.Sprintf("%s is the fastest model, by which the request sorts (%d %% chance of success).", name, chance)
	case r.criterion == byTime:
		return fmt.Sprintf("%s is the best value if speed counts: about %.2g s for %s, %d %% chance of success.", name, first.option.latency.Seconds(), task, chance)
	case better == nil && cheaper == nil && slices.ContainsFunc(r.ready, func(cand *candidate) bool { return cand.cost < first.cost }):
		return fmt.Sprintf("%s is the best for %s, by less than a point (%d %% chance of success).", name, task, chance)
	case better == nil && cheaper == nil:
		return fmt.Sprintf("%s is the cheapest model, and none is a point better for %s (%d %% chance of success).", name, task, chance)
	case cheaper == nil && first.Quality >= goodEnough:
		return fmt.Sprintf("%s is good enough for %s (%d %% chance of success); %s has %d %% %s.", name, task, chance, better.Model, percent(better.Quality), atCost(better, first))
	case cheaper == nil:
		return fmt.Sprintf("%s is the best value for %s (%d %% chance of success); %s has %d %% %s.", name, task, chance, better.Model, percent(better.Quality), atCost(better, first))
	case better == nil:
		return fmt.Sprintf("%s is the best for %s (%d %% chance of success); %s has %d %% %s.", name, task, chance, cheaper.Model, percent(cheaper.Quality), atCost(cheaper, first))
	}
	return fmt.Sprintf("%s is the best value for %s (%d %% chance): %s has %d %% %s; %s has %d %% %s.",
		name, task, chance, better.Model, percent(better.Quality), atCost(better, first), cheaper.Model, percent(cheaper.Quality), atCost(cheaper, first))
}

// ordered reports whether the request or a policy puts a candidate before others.
func (r *ranking) ordered(first *candidate) bool {
	return slices.ContainsFunc(r.ready, func(cand *candidate) bool {
		return cand.providerOrder > first.providerOrder || cand.preference > first.preference
	})
}

// neighbours returns the cheapest model that is a point better, and the best of the cheaper models that are a point worse; nil if there is
// none.
func (r *ranking) neighbours(first *candidate) (better, cheaper *candidate) {
	for _, cand := range r.ready {
		if cand.Model == first.Model || cand.option == nil {
			continue
		}
		if percent(cand.Quality) > percent(first.Quality) && (better == nil || cand.cost < better.cost) {
			better = cand
		}
		if percent(cand.Quality) < percent(first.Quality) && cand.cost < first.cost && (cheaper == nil || cand.Quality > cheaper.Quality) {
			cheaper = cand
		}
	}
	return better, cheaper
}

// percent returns a probability in whole per cent. No answer is certain.
func percent(p float64) int { return int(min(max(math.Round(100*p), 1), 99)) }

func points(gain float64) string {
	switch n := math.Round(100 * gain); {
	case n < 1:
		return "less than a point"
	case n == 1:
		return "1 point"
	default:
		return fmt.Sprintf("%.0f points", n)
	}
}

// atCost compares the expected cost of a candidate with that of the first choice.
func atCost(cand, first *candidate) string {
	short := func(ratio float64) string {
		if ratio < 9.5 {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", ratio), ".0")
		}
		return fmt.Sprintf("%.0f", ratio)
	}
	switch ratio := float64(max(cand.cost, 1)) / float64(max(first.cost, 1)); {
	case ratio > 1.05:
		return "at " + short(ratio) + " × the cost"
	case ratio < 0.95:
		return "and is " + short(1/ratio) + " × cheaper"
	}
	return "at the same cost"
}

// taskName names the task of a request with its difficulty, such as "a hard coding task".
func taskName(f *predict.Features) string {
	levels := [...]string{"a trivial", "an easy", "a medium", "a hard"}
	level := levels[int(min(max(math.Round(f.Difficulty), 0), 3))]
	switch f.Task {
	case predict.Short:
		return level + " short-answer task"
	case predict.Chat:
		return level + " writing task"
	case predict.Knowledge:
		return level + " question"
	case predict.Maths:
		return level + " maths task"
	case predict.Code:
		return level + " coding task"
	case predict.Agents:
		return level + " agent step"
	}
	return level + " task"
}

// clip shortens a sentence to maxBecause characters, at the end of a clause if there is one.
func clip(text string) string {
	letters := []rune(text)
	if len(letters) <= maxBecause {
		return text
	}
	short := string(letters[:maxBecause-1])
	if i := strings.LastIndex(short, "; "); i > 0 {
		return short[:i] + "."
	}
	return strings.TrimRight(short, " ,;:") + "…"
}

// Row is one of the few candidates that explain a decision.
type Row struct {
	Role      string    `json:"role"` // chosen, next cheaper, next better, baseline or fastest
	Candidate Candidate `json:"candidate"`
}

// Rows returns the candidates that explain the choice: chosen, next cheaper, next better, baseline, fastest. A model is listed once.
func (d *Decision) Rows() []Row {
	var rows []Row
	add := func(role string, c *Candidate) {
		if c == nil {
			return
		}
		for i := range rows {
			if rows[i].Candidate.Target == c.Target {
				return
			}
		}
		rows = append(rows, Row{role, *c})
	}
	var first, cheaper, better, baseline, fastest *Candidate
	for i := range d.Candidates {
		c := &d.Candidates[i]
		if c.Excluded != nil {
			continue
		}
		if first == nil {
			first, fastest = c, c
			continue
		}
		if d.Baseline != nil && c.Model == d.Baseline.Model && baseline == nil {
			baseline = c
		}
		if c.Latency < fastest.Latency {
			fastest = c
		}
		if c.Model == first.Model || c.Price == nil || first.Price == nil {
			continue
		}
		if *c.Price < *first.Price && (cheaper == nil || *c.Price > *cheaper.Price) {
			cheaper = c
		}
		if c.Quality > first.Quality && (better == nil || *c.Price < *better.Price) {
			better = c
		}
	}
	add("chosen", first)
	add("next cheaper", cheaper)
	add("next better", better)
	add("baseline", baseline)
	add("fastest", fastest)
	return rows
}
