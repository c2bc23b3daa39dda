package policy

import (
	"slices"
	"strings"
)

// Pattern is a name, or a prefix followed by a star. Model patterns are matched against the model and against provider/model.
type Pattern string

// Match reports whether the pattern matches the name.
func (p Pattern) Match(name string) bool {
	if last := len(p) - 1; last >= 0 && p[last] == '*' {
		return strings.HasPrefix(name, string(p[:last]))
	}
	return string(p) == name
}

// MatchTarget reports whether the pattern matches the model or provider/model.
func (p Pattern) MatchTarget(provider, model string) bool {
	if p.Match(model) {
		return true
	}
	rest, ok := strings.CutPrefix(string(p), provider)
	if !ok {
		start, star := strings.CutSuffix(string(p), "*")
		return star && strings.HasPrefix(provider, start)
	}
	switch {
	case rest == "*":
		return true
	case strings.HasPrefix(rest, "/"):
		return Pattern(rest[1:]).Match(model)
	default:
		return false
	}
}

func patterns(names []string) []Pattern {
	list := make([]Pattern, len(names))
	for i, name := range names {
		list[i] = Pattern(name)
	}
	return list
}

// matcher is a compiled selector. Its results are precomputed, because it is applied to every target of every request.
type matcher struct {
	models, providers, tags patternList
}

// patternList is one list of a selector, with the exclusions for targets that match it and for targets that do not.
type patternList struct {
	patterns []Pattern
	within   []Exclusion // exclusions for targets that match a pattern, by pattern index
	outside  Exclusion
}

// buildReasons precomputes the exclusions of a policy.
func (m *matcher) buildReasons(policy string) {
	for _, one := range []struct {
		list *patternList
		what string
	}{{&m.models, "models "}, {&m.providers, "providers "}, {&m.tags, "targets tagged "}} {
		const shown = 5
		one.list.within = make([]Exclusion, len(one.list.patterns))
		var allowed []string
		for i, p := range one.list.patterns {
			one.list.within[i] = Exclusion{policy, "the policy excludes " + one.what + string(p)}
			if i < shown {
				allowed = append(allowed, string(p))
			}
		}
		if len(one.list.patterns) > shown {
			allowed = append(allowed, "…")
		}
		one.list.outside = Exclusion{policy, "the policy allows only " + one.what + strings.Join(allowed, ", ")}
	}
}

// places returns, for each list, the index of the first pattern that matches the target, or -1.
func (m *matcher) places(provider, model string, tags []string) (ofModel, ofProvider, ofTag int) {
	ofModel = slices.IndexFunc(m.models.patterns, func(p Pattern) bool { return p.MatchTarget(provider, model) })
	ofProvider = slices.IndexFunc(m.providers.patterns, func(p Pattern) bool { return p.Match(provider) })
	ofTag = slices.IndexFunc(m.tags.patterns, func(p Pattern) bool { return slices.ContainsFunc(tags, p.Match) })
	return ofModel, ofProvider, ofTag
}

// excluded returns the exclusion for a target that matches one of the lists, or nil.
func (m *matcher) excluded(provider, model string, tags []string) *Exclusion {
	ofModel, ofProvider, ofTag := m.places(provider, model, tags)
	switch {
	case ofModel >= 0:
		return &m.models.within[ofModel]
	case ofProvider >= 0:
		return &m.providers.within[ofProvider]
	case ofTag >= 0:
		return &m.tags.within[ofTag]
	}
	return nil
}

// unlisted returns the exclusion for a target that is missing from at least one non-empty list, or nil.
func (m *matcher) unlisted(provider, model string, tags []string) *Exclusion {
	ofModel, ofProvider, ofTag := m.places(provider, model, tags)
	switch {
	case ofModel < 0 && len(m.models.patterns) > 0:
		return &m.models.outside
	case ofProvider < 0 && len(m.providers.patterns) > 0:
		return &m.providers.outside
	case ofTag < 0 && len(m.tags.patterns) > 0:
		return &m.tags.outside
	}
	return nil
}
