package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"sync"
	"time"
)

// Set is an ordered list of policies that have been checked. Nobody changes one; it is safe for concurrent use, and the
// nil Set has no policies.
type Set struct {
	name     string
	source   []byte
	policies []Policy
	version  string

	parts                         []*Set  // that it was joined from; nil for one that was parsed
	rules                         []*rule // of the active policies
	zones                         map[string]*time.Location
	names                         *names
	allows, excludes, preferences int       // how many of each there can be in an outcome
	pool                          sync.Pool // of activations
}

const versionLength = 12

// newSet collects rules. It is empty without any.
func newSet(name string, rules []*rule, zones map[string]*time.Location) *Set {
	s := &Set{name: name, rules: rules, zones: zones, names: newNames()}
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

// Name is what the set was called when it was parsed.
func (s *Set) Name() string {
	if s == nil {
		return ""
	}
	return s.name
}

// Source is the YAML that the set was parsed from.
func (s *Set) Source() []byte {
	if s == nil {
		return nil
	}
	return slices.Clone(s.source)
}

// Policies lists the policies in order, with those that are switched off.
func (s *Set) Policies() []Policy {
	if s == nil {
		return nil
	}
	return slices.Clone(s.policies)
}

// Len is the number of policies that are evaluated.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.rules)
}

// Version identifies what the policies say: two sets of one version give the same outcomes, however their YAML is laid
// out. It is empty without policies. That of joined sets is both, with a plus between them.
func (s *Set) Version() string {
	if s == nil {
		return ""
	}
	return s.version
}

// versionOf hashes the policies as Format writes them.
func versionOf(policies []Policy) string {
	if len(policies) == 0 {
		return ""
	}
	sum := sha256.Sum256(Format(policies))
	return hex.EncodeToString(sum[:])[:versionLength]
}

// Join puts the policies of the instance before those of a workspace. What an earlier policy decides no later one can
// undo, so a workspace can add restrictions and fill gaps, and no more. Either may be nil.
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

// Parts are the sets that this one was joined from, in their order, or itself alone. Its version is theirs, with a plus
// between them.
func (s *Set) Parts() []*Set {
	switch {
	case s == nil:
		return nil
	case s.parts == nil:
		return []*Set{s}
	}
	return s.parts
}
