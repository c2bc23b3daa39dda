package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
)

// Verification is the result of recomputing a logged decision.
type Verification struct {
	Same             bool         `json:"same"`
	FeaturesVerified bool         `json:"features_verified"` // whether the features of the stored prompt were also recomputed
	Differences      []Difference `json:"differences"`
	Missing          []string     `json:"missing"` // data needed for an exact recomputation
}

// Difference is a recomputed value that differs from the logged value.
type Difference struct {
	What       string `json:"what"`
	Logged     string `json:"logged"`
	Recomputed string `json:"recomputed"`
}

// Verify recomputes the decision of an entry from its record and the data that was active at the time, and compares the results. features
// are the features that the caller recomputed from the stored prompt with the recorded predictor version; nil if the prompt is not stored.
func Verify(e *requestlog.Entry, w Archived, features *predict.Features) Verification {
	v := Verification{Differences: []Difference{}, Missing: []string{}}
	if e.Decision == nil {
		v.Missing = append(v.Missing, "the request was rejected before a decision was made")
		return v
	}
	if len(w.Missing) > 0 {
		v.Missing = append(v.Missing, w.Missing...)
		return v
	}
	logged := e.Decision
	// Ignore the error: Decide also returns the candidates if it rejects the request.
	again, _ := route.Decide(&logged.Input, w.Snapshot, Recorded(logged, &w.Rules))
	if e.Served() && len(again.Plan) > 0 && again.Plan[0].ID() != e.Provider+"/"+e.Model {
		again.Kind = route.Fallback // the log records this kind if another target served the request
	}
	c := comparer{logged: logged, again: again}
	c.decision()
	if features != nil {
		v.FeaturesVerified = true
		c.text("features of the prompt", featuresText(&logged.Input.Features), featuresText(features))
	}
	v.Differences = append(v.Differences, c.differences...)
	v.Same = len(v.Differences) == 0
	if !v.Same && logged.Versions.Catalog != w.Catalog {
		v.Missing = append(v.Missing, fmt.Sprintf("catalog %s; %s was used instead", cmp.Or(logged.Versions.Catalog, "unknown"), cmp.Or(w.Catalog, "unknown")))
	}
	return v
}

// Recorded returns the conditions recorded in a decision, combined with the given rules.
func Recorded(d *route.Decision, by *Rules) route.Conditions {
	seen := make(map[string]route.Sighting, len(d.Candidates))
	for i := range d.Candidates {
		c := &d.Candidates[i]
		seen[c.Target] = route.Sighting{Seen: c.Seen, Cache: c.Cache}
	}
	for _, s := range d.Aside {
		seen[s.Target] = s
	}
	return route.Conditions{
		State:    func(target string) route.State { return seen[target].Seen },
		CacheHit: func(t *provider.Target, _ int64, _ bool) route.CacheHit { return seen[t.ID()].Cache },
		Policies: by.Policies, Corrections: by.Corrections, Feedback: by.Feedback,
	}
}

// comparer collects the differences between two decisions.
type comparer struct {
	logged, again *route.Decision
	differences   []Difference
}

func (c *comparer) text(what, logged, again string) {
	if logged != again {
		c.differences = append(c.differences, Difference{what, logged, again})
	}
}

func (c *comparer) decision() {
	a, b := c.logged, c.again
	c.text("kind", string(a.Kind), string(b.Kind))
	c.text("plan", planText(a), planText(b))
	c.text("policy", a.Policy, b.Policy)
	c.text("choice without policies", a.Alone, b.Alone)
	c.text("baseline", baselineText(a.Baseline), baselineText(b.Baseline))
	c.text("adjustments", adjustmentsText(a.Adjustments), adjustmentsText(b.Adjustments))
	c.text("stay", stayText(a.Stay), stayText(b.Stay))
	c.text("held out", a.HeldOut, b.HeldOut)
	c.text("output limit", strconv.FormatInt(a.MaxOutput, 10), strconv.FormatInt(b.MaxOutput, 10))
	c.text("omitted bodies", strconv.FormatBool(a.OmitBodies), strconv.FormatBool(b.OmitBodies))
	for i := range max(len(a.Policies), len(b.Policies)) {
		var before, after string
		if i < len(a.Policies) {
			before = hitText(&a.Policies[i])
		}
		if i < len(b.Policies) {
			after = hitText(&b.Policies[i])
		}
		c.text(fmt.Sprintf("policy %d", i+1), before, after)
	}
	c.candidates()
	c.text("because", a.Because, b.Because)
}

func (c *comparer) candidates() {
	after := make(map[string]*route.Candidate, len(c.again.Candidates))
	for i := range c.again.Candidates {
		after[c.again.Candidates[i].Target] = &c.again.Candidates[i]
	}
	for i := range c.logged.Candidates {
		one := &c.logged.Candidates[i]
		other := after[one.Target]
		delete(after, one.Target)
		if other == nil {
			c.text("candidate "+one.Target, "considered", "not considered")
			continue
		}
		c.text("exclusion of "+one.Target, exclusionText(one), exclusionText(other))
		if !sameParts(one, other) {
			c.text("parts of "+one.Target, partsText(one), partsText(other))
		}
	}
	for _, target := range slices.Sorted(maps.Keys(after)) {
		c.text("candidate "+target, "not considered", "considered")
	}
}

func planText(d *route.Decision) string {
	var targets []string
	for i := range d.Candidates {
		if d.Candidates[i].Rank > 0 {
			targets = append(targets, d.Candidates[i].Target)
		}
	}
	return strings.Join(targets, ", ")
}

func adjustmentsText(list []route.Adjustment) string {
	var parts []string
	for _, a := range list {
		parts = append(parts, string(a.Code)+": "+a.Reason)
	}
	return strings.Join(parts, ", ")
}

func baselineText(b *route.Baseline) string {
	if b == nil {
		return ""
	}
	return b.Model + " (" + string(b.Source) + ")"
}

func stayText(s *route.Stay) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s rather than %s (%s), switching costs %s", s.Target, s.Alternative, s.Reason, s.Switch)
}

func hitText(h *route.PolicyHit) string {
	if h.Matched {
		return h.Name + " matched: " + h.Effect()
	}
	return h.Name + " skipped: " + h.Reason()
}

func exclusionText(c *route.Candidate) string {
	if c.Excluded == nil {
		return ""
	}
	return string(c.Excluded.Code) + ": " + c.Excluded.Reason()
}

// sameParts reports whether the figures of two candidates are equal.
func sameParts(a, b *route.Candidate) bool {
	if (a.Price == nil) != (b.Price == nil) || a.Price != nil && *a.Price != *b.Price {
		return false
	}
	return a.Quality == b.Quality && a.Spread == b.Spread && a.Ahead == b.Ahead && a.Output == b.Output && a.Latency == b.Latency
}

// partsText formats the figures of a candidate.
func partsText(c *route.Candidate) string {
	price := "unknown"
	if c.Price != nil {
		price = c.Price.String()
	}
	return fmt.Sprintf("success probability %s ± %s, expected cost %s, later cost %s, output %d, %d ms",
		number(c.Quality), number(c.Spread), price, c.Ahead, c.Output, c.Latency)
}

func featuresText(s *predict.Features) string {
	return fmt.Sprintf("%s %s, difficulty %s, known %s, output %d", s.Task, s.Language, number(s.Difficulty), number(s.Known), s.Output)
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
