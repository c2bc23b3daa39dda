package proof

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// MinSamples is the number of samples below which no figure is reported.
const MinSamples = 50

// maxExamples is the maximum number of best examples, and of worst examples, in a report.
const maxExamples = 5

// Source reads the comparisons of a workspace.
type Source interface {
	// Samples returns the comparisons of requests that were served in the half-open interval [from, to).
	Samples(ctx context.Context, workspace string, from, to time.Time) ([]Sample, error)
}

// QualityFigures holds statistics about the comparisons of a group of requests. The estimates are nil for fewer than MinSamples samples.
type QualityFigures struct {
	Samples    int       `json:"samples" doc:"Number of comparisons."`
	Difference *Estimate `json:"difference,omitempty" doc:"Quality of the routed response minus quality of the baseline response, from -1 to 1. Absent for fewer than 50 comparisons."`
	Wins       *Estimate `json:"wins,omitempty" doc:"Share of requests with a better routed response."`
	Ties       *Estimate `json:"ties,omitempty" doc:"Share of requests with equal responses."`
	Losses     *Estimate `json:"losses,omitempty" doc:"Share of requests with a worse routed response."`
}

// QualityGroup holds the figures of the requests with one task kind, model or key.
type QualityGroup struct {
	Name string `json:"name" doc:"Task type, model or ID of the key."`
	QualityFigures
}

// QualityPoint is the difference at the end of a day, computed from all comparisons between the start of the period and the end of the day.
type QualityPoint struct {
	Day        time.Time `json:"day" doc:"Start of the day in UTC."`
	Samples    int       `json:"samples" doc:"Comparisons until the end of the day."`
	Difference *Estimate `json:"difference,omitempty"`
}

// ComparisonExample is one comparison.
type ComparisonExample struct {
	Request    string    `json:"request_id" doc:"ID of the request that was served."`
	Shadow     string    `json:"shadow_id" doc:"ID of the request to the other model."`
	At         time.Time `json:"time"`
	Task       string    `json:"task"`
	Model      string    `json:"model"`
	Baseline   string    `json:"baseline_model"`
	Difference float64   `json:"difference"`
	Method     string    `json:"method" doc:"What compared the responses: schema, tools, exact, code, hook or judge."`
	Reason     string    `json:"reason" doc:"Explanation of the verdict."`
}

// QualityReport holds the figures of all comparisons in a period.
type QualityReport struct {
	QualityFigures
	Unusable int                 `json:"unusable" doc:"Comparisons without a valid difference or sampling probability. They are excluded."`
	Days     []QualityPoint      `json:"days" doc:"Difference over time."`
	Tasks    []QualityGroup      `json:"tasks" doc:"Figures by task type, most comparisons first."`
	Models   []QualityGroup      `json:"models" doc:"Figures by routed model."`
	Keys     []QualityGroup      `json:"keys" doc:"Figures by key."`
	Baseline []string            `json:"baselines" doc:"Baseline models of the comparisons, most frequent first."`
	Methods  []MethodCount       `json:"methods" doc:"Comparisons by method, most frequent first."`
	Best     []ComparisonExample `json:"best" doc:"Comparisons in which the routed response was best, up to 5."`
	Worst    []ComparisonExample `json:"worst" doc:"Comparisons in which the routed response was worst, up to 5."`
}

// MethodCount is the number of comparisons with one method.
type MethodCount struct {
	Name    string `json:"name"`
	Samples int    `json:"samples"`
}

// Summarize computes the figures of samples. floor is the smallest propensity that the sampler may use; 0 selects the smallest
// propensity of the samples. The result does not depend on the order of the samples.
func Summarize(samples []Sample, floor float64) QualityReport {
	total := len(samples)
	samples, floor = usable(samples, floor)
	slices.SortStableFunc(samples, func(a, b Sample) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Request, b.Request)) })
	r := QualityReport{
		QualityFigures: figures(samples, floor), Unusable: total - len(samples), Days: days(samples, floor),
		Tasks:    groups(samples, floor, func(s *Sample) string { return s.Task }),
		Models:   groups(samples, floor, func(s *Sample) string { return s.Model }),
		Keys:     groups(samples, floor, func(s *Sample) string { return s.Key }),
		Baseline: []string{}, Best: []ComparisonExample{}, Worst: []ComparisonExample{},
	}
	for _, c := range counts(samples, func(s *Sample) string { return s.Baseline }) {
		r.Baseline = append(r.Baseline, c.Name)
	}
	r.Methods = counts(samples, func(s *Sample) string { return s.Method })
	byQuality := slices.Clone(samples)
	slices.SortStableFunc(byQuality, func(a, b Sample) int {
		return cmp.Or(cmp.Compare(b.Difference, a.Difference), b.At.Compare(a.At), cmp.Compare(b.Request, a.Request))
	})
	for i := range min(maxExamples, len(byQuality)) {
		if best := &byQuality[i]; best.Difference > 0 {
			r.Best = append(r.Best, best.example())
		}
		if worst := &byQuality[len(byQuality)-1-i]; worst.Difference < 0 {
			r.Worst = append(r.Worst, worst.example())
		}
	}
	return r
}

func (s *Sample) example() ComparisonExample {
	return ComparisonExample{
		Request: s.Request, Shadow: s.Shadow, At: s.At, Task: s.Task, Model: s.Model, Baseline: s.Baseline,
		Difference: s.Difference, Method: s.Method, Reason: s.Reason,
	}
}

// figures computes the figures of valid samples.
func figures(samples []Sample, floor float64) QualityFigures {
	f := QualityFigures{Samples: len(samples)}
	if len(samples) < MinSamples {
		return f
	}
	all := differences(samples)
	difference := all.estimate(-1, floor)
	f.Difference = &difference
	share := func(is func(difference float64) bool) *Estimate {
		var s sequence
		for i := range samples {
			value := 0.0
			if is(samples[i].Difference) {
				value = 1
			}
			s.add(value, samples[i].Propensity)
		}
		return new(s.estimate(0, floor))
	}
	f.Wins = share(func(d float64) bool { return d > 0 })
	f.Ties = share(func(d float64) bool { return d == 0 })
	f.Losses = share(func(d float64) bool { return d < 0 })
	return f
}

// days returns the difference at the end of each day with comparisons.
func days(samples []Sample, floor float64) []QualityPoint {
	points := []QualityPoint{}
	var s sequence
	for i := range samples {
		s.add(samples[i].Difference, samples[i].Propensity)
		day := samples[i].At.UTC().Truncate(24 * time.Hour)
		if i+1 < len(samples) && samples[i+1].At.UTC().Truncate(24*time.Hour).Equal(day) {
			continue
		}
		p := QualityPoint{Day: day, Samples: s.n}
		if s.n >= MinSamples {
			p.Difference = new(s.estimate(-1, floor))
		}
		points = append(points, p)
	}
	return points
}

// groups groups the samples by name and returns the figures of each group, largest group first.
func groups(samples []Sample, floor float64, name func(*Sample) string) []QualityGroup {
	byName := map[string][]Sample{}
	for i := range samples {
		key := name(&samples[i])
		byName[key] = append(byName[key], samples[i])
	}
	list := make([]QualityGroup, 0, len(byName))
	for _, key := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, QualityGroup{key, figures(byName[key], floor)})
	}
	slices.SortStableFunc(list, func(a, b QualityGroup) int { return cmp.Compare(b.Samples, a.Samples) })
	return list
}

// counts returns the number of samples for each name, most frequent first.
func counts(samples []Sample, name func(*Sample) string) []MethodCount {
	byName := map[string]int{}
	for i := range samples {
		byName[name(&samples[i])]++
	}
	list := make([]MethodCount, 0, len(byName))
	for _, key := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, MethodCount{key, byName[key]})
	}
	slices.SortStableFunc(list, func(a, b MethodCount) int { return cmp.Compare(b.Samples, a.Samples) })
	return list
}
