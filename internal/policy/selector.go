package policy

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"fairlead.dev/internal/document"
)

// selector parses the lists of allow or exclude.
func (p *reader) selector(n *yaml.Node, path string, m *matcher) *Selector {
	s := &Selector{}
	before := len(p.problems)
	p.pairs(n, path, func(key, value *yaml.Node) {
		at := below(path, key.Value)
		switch key.Value {
		case "models":
			s.Models, m.models.patterns = p.models(value, at)
		case "providers":
			s.Providers = p.list(value, at, func(one *yaml.Node, where, name string) string {
				return p.checkName(one, where, "provider", name, p.inventory.Providers)
			})
			m.providers.patterns = patterns(s.Providers)
		case "tags":
			s.Tags = p.list(value, at, func(one *yaml.Node, where, name string) string {
				return p.checkName(one, where, "tag", name, p.inventory.Tags)
			})
			m.tags.patterns = patterns(s.Tags)
		default:
			p.unknown(key, at, "a selector", []string{"models", "providers", "tags"})
		}
	})
	if len(p.problems) == before && len(s.Models)+len(s.Providers)+len(s.Tags) == 0 {
		p.report(n, MissingField, path, "the selector is empty", "list models, providers or tags")
	}
	return s
}

// models parses a list of model and target patterns. It returns the patterns as written and in canonical form.
func (p *reader) models(n *yaml.Node, path string) ([]string, []Pattern) {
	var canonical []Pattern
	names := p.list(n, path, func(one *yaml.Node, where, name string) string {
		model, ok := p.inventory.models(name)
		if !ok || isAuto(name) {
			p.noSuchModel(one, where, name)
		}
		canonical = append(canonical, Pattern(model))
		return name
	})
	return names, canonical
}

// checkName reports a name or pattern that does not match any of the existing names.
func (p *reader) checkName(n *yaml.Node, path, what, name string, names []string) string {
	if p.inventory.AllowUnknown || slices.ContainsFunc(names, Pattern(name).Match) {
		return name
	}
	message := fmt.Sprintf("unknown %s %s", what, document.Quote(name))
	if strings.HasSuffix(name, "*") {
		message = fmt.Sprintf("no %s matches %s", what, document.Quote(name))
	}
	hint := nearest(name, names)
	if hint == "" && len(names) > 0 && len(names) <= 10 {
		hint = "known: " + strings.Join(names, ", ")
	}
	p.report(n, UnknownName, path, message, hint)
	return name
}
