package route

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/spelling"
)

// Auto is the name of the route that always exists.
const Auto = "auto"

// Route is a name that a request may ask for instead of a model. The route auto always exists, with the default pool unless it is defined
// like the others.
type Route struct {
	Name string `json:"name" yaml:"name"`
	// Pool lists the models that the route chooses among; empty for the default pool. A listed pool never changes by itself.
	Pool      []string `json:"pool,omitempty" yaml:"pool"`
	Tradeoff  *float64 `json:"tradeoff,omitempty" yaml:"tradeoff"`     // place on the dial from 0 (cheapest) to 1 (best); nil for the middle
	MinEffort string   `json:"min_effort,omitempty" yaml:"min_effort"` // lowest reasoning effort that the route may choose
	MaxEffort string   `json:"max_effort,omitempty" yaml:"max_effort"` // highest reasoning effort that the route may choose
	Shares    []Share  `json:"shares,omitempty" yaml:"shares"`         // fixed parts of the sessions
}

// Share sends a fixed part of the sessions of a route to a model.
type Share struct {
	Model   string  `json:"model" yaml:"model"`
	Percent float64 `json:"percent" yaml:"percent"`
}

// IsAuto reports whether a model name is auto or one of its objectives.
func IsAuto(name string) bool { return name == Auto || strings.HasPrefix(name, Auto+":") }

// Routed reports whether the request leaves the choice of the model to the router.
func (in *Input) Routed() bool { return in.Route != nil || IsAuto(in.Model) }

// AutoAlias is the prefix in names such as claude-auto:cost, which have the same meaning as auto:cost. Claude Code lists only gateway
// models whose names contain claude or anthropic. Gemini CLI has its own model named auto, so gemini-auto has the same meaning, too.
const (
	AutoAlias   = "claude-"
	geminiAlias = "gemini-"
)

// objectives are the suffixes that select an objective of a route.
var objectives = [...]string{"", ":cost", ":quality", ":speed"}

// Names returns the model names that ask for auto and for the given routes, with and without an objective.
func Names(lists ...[]Route) []string {
	var names []string
	for _, name := range append([]string{Auto}, routeNames(lists)...) {
		for _, objective := range objectives {
			names = append(names, name+objective)
		}
	}
	return names
}

// routeNames returns the names of the routes except auto.
func routeNames(lists [][]Route) []string {
	var names []string
	for _, t := range slices.Concat(lists...) {
		if t.Name != Auto && !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}

// Resolve returns the canonical name of the route that a model name asks for, such as support:cost, and the definition of the route, which
// is nil for auto without one. ok is false for the name of a model. Names are case-insensitive and may have one of the prefixes of
// AutoAlias. The first list that defines a route applies.
func (s *Snapshot) Resolve(name string, lists ...[]Route) (canonical string, t *Route, ok bool) {
	lower := strings.ToLower(name)
	for _, prefix := range [...]string{"", AutoAlias, geminiAlias} {
		short, found := strings.CutPrefix(lower, prefix)
		if !found {
			continue
		}
		base, _, _ := strings.Cut(short, ":")
		t := FindRoute(base, lists...)
		switch {
		case t == nil && base != Auto:
		case base != Auto && base != lower && len(s.Named(name)) > 0: // a model such as support:8b or claude-support
		default:
			return short, t, true
		}
	}
	return name, nil, false
}

// FindRoute returns the definition of a route; nil if there is none.
func FindRoute(name string, lists ...[]Route) *Route {
	for _, list := range lists {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// Problem is an invalid member of a route.
type Problem struct {
	Path       string // member of the route, such as shares[0].model
	Message    string // what is wrong, without a full stop
	Suggestion string // closest valid value; empty if there is none
}

// validName is the form of the name of a route.
var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Check returns the problems of a route. known reports whether a model exists, and returns similar names if not.
func (t *Route) Check(known func(model string) (bool, []string)) []Problem {
	var problems []Problem
	report := func(path, suggestion, format string, args ...any) {
		problems = append(problems, Problem{path, fmt.Sprintf(format, args...), suggestion})
	}
	model := func(path, name string) {
		if ok, near := known(name); !ok {
			report(path, strings.Join(near[:min(1, len(near))], ""), "unknown model %q", name)
		}
	}
	switch alias := strings.TrimPrefix(strings.TrimPrefix(t.Name, AutoAlias), geminiAlias); {
	case !validName.MatchString(t.Name):
		report("name", "", "the name of a route consists of at most 64 lower-case letters, digits, dots, dashes and underscores, not %q", t.Name)
	case t.Name != Auto && alias == Auto:
		report("name", Auto, "%s is another name of auto", t.Name)
	default:
		for _, prefix := range [...]string{"", AutoAlias, geminiAlias} {
			if ok, _ := known(prefix + t.Name); ok && t.Name != Auto {
				report("name", "", "%s is the name of a model; choose another name for the route", prefix+t.Name)
				break
			}
		}
	}
	if len(t.Pool) > PoolSize {
		report("pool", "", "a pool has at most %d models, not %d", PoolSize, len(t.Pool))
	}
	for i, name := range t.Pool {
		path := fmt.Sprintf("pool[%d]", i)
		if slices.Contains(t.Pool[:i], name) {
			report(path, "", "%s is listed twice", name)
			continue
		}
		model(path, name)
	}
	if t.Tradeoff != nil && !(*t.Tradeoff >= 0 && *t.Tradeoff <= 1) {
		report("tradeoff", "", "the trade-off is a number from 0 (cheapest) to 1 (best), not %v", *t.Tradeoff)
	}
	for _, f := range [...]struct{ path, level string }{{"min_effort", t.MinEffort}, {"max_effort", t.MaxEffort}} {
		if levels := append([]string{"none"}, llm.EffortLevels()...); f.level != "" && !slices.Contains(levels, f.level) {
			report(f.path, spelling.Closest(f.level, levels), "unknown effort %q; use %s", f.level, strings.Join(levels, ", "))
		}
	}
	if t.MaxEffort != "" && llm.EffortLength(t.MinEffort) > llm.EffortLength(t.MaxEffort) {
		report("min_effort", "", "min_effort %s is above max_effort %s", t.MinEffort, t.MaxEffort)
	}
	sum := 0.0
	for i, share := range t.Shares {
		path := fmt.Sprintf("shares[%d]", i)
		model(path+".model", share.Model)
		if !(share.Percent > 0 && share.Percent <= 100) {
			report(path+".percent", "", "a share is above 0 and at most 100 percent, not %v", share.Percent)
		}
		sum += share.Percent
	}
	if sum > 100 {
		report("shares", "", "the shares add up to %v percent, which is above 100", sum)
	}
	return problems
}

// effortAllowed reports whether the route may choose an effort. Its limits are levels such as low and high.
func (t *Route) effortAllowed(level string) bool {
	if t == nil {
		return true
	}
	length := llm.EffortLength(level)
	return length >= llm.EffortLength(t.MinEffort) && (t.MaxEffort == "" || length <= llm.EffortLength(t.MaxEffort))
}

// shareModel returns the model that receives the session, or an empty string for the router's choice. draw is the session's place from 0
// to 1.
func (t *Route) shareModel(draw float64) string {
	if t == nil {
		return ""
	}
	for _, share := range t.Shares {
		if draw -= share.Percent / 100; draw < 0 {
			return share.Model
		}
	}
	return ""
}

// AllowedFor returns the models that a key with a list of allowed models may use for this request: those of the list, and the pool of the
// route if the list names the route.
func (in *Input) AllowedFor(list []string, s *Snapshot) []string {
	name, _, _ := strings.Cut(in.Model, ":")
	if !in.Routed() || !slices.Contains(list, name) {
		return list
	}
	if in.Route == nil || len(in.Route.Pool) == 0 {
		list = slices.Concat(list, s.pool.Models)
	} else {
		list = slices.Concat(list, in.Route.Pool)
	}
	if in.Route != nil {
		for _, share := range in.Route.Shares {
			list = append(list, share.Model)
		}
	}
	return list
}

// moveShare puts the model of the session's share first, if it can serve the request.
func (r *ranking) moveShare() {
	if model := r.in.Route.shareModel(r.in.Draw); model != "" {
		r.moveToFront(model)
	}
}

// moveToFront puts the available targets of a model before the others. It reports whether there are any.
func (r *ranking) moveToFront(model string) bool {
	if !slices.ContainsFunc(r.ready, func(cand *candidate) bool { return cand.Model == model }) {
		return false
	}
	slices.SortStableFunc(r.ready, func(a, b *candidate) int {
		switch {
		case a.Model == model && b.Model != model:
			return -1
		case a.Model != model && b.Model == model:
			return 1
		}
		return 0
	})
	return true
}
