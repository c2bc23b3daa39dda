package policy

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// labels are tags or metadata as a map of CEL. Unlike CEL's own maps it answers "" for a key that is not there, so that
// key.tags["team"] == "infra" is simply false for a key without the tag; and it goes through its keys in their order, so
// that the same facts always give the same answer.
type labels struct {
	texts map[string]string
	seen  []label            // the first entries that were looked up; a list is quicker than a map for a handful
	few   [4]label           // where seen begins
	more  map[string]ref.Val // the other entries that were looked up
	keys  []string           // sorted, once they were iterated over
}

type label struct {
	key   string
	value ref.Val
}

func newLabels(m map[string]string) *labels { return &labels{texts: m} }

// Find returns the text of the key, "" when there is none.
func (l *labels) Find(key ref.Val) (ref.Val, bool) {
	k, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), false
	}
	text := l.texts[string(k)]
	if text == "" {
		return types.String(""), true
	}
	for _, s := range l.seen {
		if s.key == string(k) {
			return s.value, true
		}
	}
	if value, ok := l.more[string(k)]; ok {
		return value, true
	}
	value := ref.Val(types.String(text))
	switch {
	case l.seen == nil:
		l.seen = append(l.few[:0], label{string(k), value})
	case len(l.seen) < len(l.few):
		l.seen = append(l.seen, label{string(k), value})
	case l.more == nil:
		l.more = map[string]ref.Val{string(k): value}
	default:
		l.more[string(k)] = value
	}
	return value, true
}

// Get is Find, for the index operator.
func (l *labels) Get(key ref.Val) ref.Val {
	value, _ := l.Find(key)
	return value
}

// Contains reports whether the key is there.
func (l *labels) Contains(key ref.Val) ref.Val {
	k, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key)
	}
	_, there := l.texts[string(k)]
	return types.Bool(there)
}

// Size is the number of keys.
func (l *labels) Size() ref.Val { return types.Int(len(l.texts)) }

// Iterator goes through the keys in alphabetical order.
func (l *labels) Iterator() traits.Iterator {
	if l.keys == nil {
		l.keys = slices.Sorted(maps.Keys(l.texts))
	}
	return types.NewStringList(types.DefaultTypeAdapter, l.keys).Iterator()
}

// plain is the same as a map of CEL's own.
func (l *labels) plain() traits.Mapper {
	return types.NewStringStringMap(types.DefaultTypeAdapter, l.texts)
}

// ConvertToNative makes a Go value.
func (l *labels) ConvertToNative(t reflect.Type) (any, error) { return l.plain().ConvertToNative(t) }

// ConvertToType makes a value of another type of CEL.
func (l *labels) ConvertToType(t ref.Type) ref.Val { return l.plain().ConvertToType(t) }

// Equal compares with another map.
func (l *labels) Equal(other ref.Val) ref.Val {
	if o, ok := other.(*labels); ok {
		return types.Bool(maps.Equal(l.texts, o.texts))
	}
	return l.plain().Equal(other)
}

// Type is the type of maps.
func (l *labels) Type() ref.Type { return types.MapType }

// Value is the Go map.
func (l *labels) Value() any { return l.texts }

// clock is what a clock shows in each zone that the conditions name.
type clock struct {
	labels
	at    time.Time
	zones map[string]*time.Location
	of    func(time.Time) ref.Val
}

// Find returns what the clock shows in a zone. Parsing has made sure that the zone is known.
func (c *clock) Find(key ref.Val) (ref.Val, bool) {
	name, _ := key.(types.String)
	zone := c.zones[string(name)]
	if zone == nil {
		return types.NewErr("no time zone is called %q", string(name)), false
	}
	return c.of(c.at.In(zone)), true
}

// Get is Find, for the index operator.
func (c *clock) Get(key ref.Val) ref.Val {
	value, _ := c.Find(key)
	return value
}
