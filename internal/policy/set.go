package policy

import (
	"maps"
	"slices"
	"time"

	"fairlead.dev/internal/policy/condition"
)

// Set is an ordered list of validated policies. It is immutable and safe for concurrent use. A nil Set has no policies.
type Set struct {
	name     string
	source   []byte
	policies []Policy
	version  string

	parts                         []*Set  // sets from which Join created this set; nil for a parsed set
	rules                         []*rule // active policies
	zones                         map[string]*time.Location
	evaluator                     *condition.Evaluator
	allows, excludes, preferences int // maximum number of elements of each kind in an outcome
}

// newSet returns a set of rules.
func newSet(name string, rules []*rule, zones map[string]*time.Location) *Set {
	s := &Set{name: name, rules: rules, zones: zones, evaluator: condition.NewEvaluator(zones)}
	for _, r := range rules {
		if r.has&allows != 0 {
			s.allows++
		}
		if r.has&excludes != 0 {
			s.excludes++
		}
		s.preferences += len(r.prefer)
	}
	return s
}

// Name returns the name given to Parse.
func (s *Set) Name() string {
	if s == nil {
		return ""
	}
	return s.name
}

// Source returns the YAML that the set was parsed from.
func (s *Set) Source() []byte {
	if s == nil {
		return nil
	}
	return slices.Clone(s.source)
}

// Policies lists the policies in order, including disabled ones.
func (s *Set) Policies() []Policy {
	if s == nil {
		return nil
	}
	return slices.Clone(s.policies)
}

// Len returns the number of active policies.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.rules)
}

// Version returns an identifier of the content. Sets with the same version give the same outcomes, regardless of the YAML layout. It is
// empty for a set without policies. The version of a joined set consists of both versions, separated by a plus sign.
func (s *Set) Version() string {
	if s == nil {
		return ""
	}
	return s.version
}

// Join combines the instance policies with the policies of a workspace. Instance policies come first, and later policies cannot undo them,
// so a workspace can only add restrictions and set values that are not set. Either argument may be nil.
func Join(instance, workspace *Set) *Set {
	switch {
	case workspace == nil || len(workspace.policies) == 0:
		return instance
	case instance == nil || len(instance.policies) == 0:
		return workspace
	}
	zones := maps.Clone(workspace.zones)
	if zones == nil {
		zones = map[string]*time.Location{}
	}
	maps.Copy(zones, instance.zones)
	s := newSet(workspace.name, slices.Concat(instance.rules, workspace.rules), zones)
	s.policies = slices.Concat(instance.policies, workspace.policies)
	s.source = Format(s.policies)
	s.version = instance.version + "+" + workspace.version
	s.parts = slices.Concat(instance.Parts(), workspace.Parts())
	return s
}

// Parts returns the sets from which Join created s, in order. For a set that was not created by Join, it returns s. The version of s
// consists of the versions of the parts, separated by a plus sign.
func (s *Set) Parts() []*Set {
	switch {
	case s == nil:
		return nil
	case s.parts == nil:
		return []*Set{s}
	}
	return s.parts
}
