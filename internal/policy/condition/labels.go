package condition

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// labels is a CEL map of tags or metadata. Unlike a standard CEL map it returns "" for a missing key, so that key.tags["team"] ==
// "infra" is false for a key without the tag. It iterates over keys in sorted order, so that equal facts give equal results.
type labels struct {
	texts    map[string]string
	seen     []label            // first entries that were looked up; a slice is faster than a map for a few entries
	inline   [4]label           // initial storage of seen
	overflow map[string]ref.Val // further entries that were looked up
	keys     []string           // sorted keys, computed on the first iteration
}

type label struct {
	key   string
	value ref.Val
}

// Find returns the value of the key, or "" if it is missing.
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
	if value, ok := l.overflow[string(k)]; ok {
		return value, true
	}
	value := ref.Val(types.String(text))
	switch {
	case l.seen == nil:
		l.seen = append(l.inline[:0], label{string(k), value})
	case len(l.seen) < len(l.inline):
		l.seen = append(l.seen, label{string(k), value})
	case l.overflow == nil:
		l.overflow = map[string]ref.Val{string(k): value}
	default:
		l.overflow[string(k)] = value
	}
	return value, true
}

// Get implements the index operator.
func (l *labels) Get(key ref.Val) ref.Val {
	value, _ := l.Find(key)
	return value
}

// Contains reports whether the key exists.
func (l *labels) Contains(key ref.Val) ref.Val {
	k, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key)
	}
	_, there := l.texts[string(k)]
	return types.Bool(there)
}

// Size returns the number of keys.
func (l *labels) Size() ref.Val { return types.Int(len(l.texts)) }

// Iterator iterates over the keys in alphabetical order.
func (l *labels) Iterator() traits.Iterator {
	if l.keys == nil {
		l.keys = slices.Sorted(maps.Keys(l.texts))
	}
	return types.NewStringList(types.DefaultTypeAdapter, l.keys).Iterator()
}

// plain returns the labels as a standard CEL map.
func (l *labels) plain() traits.Mapper {
	return types.NewStringStringMap(types.DefaultTypeAdapter, l.texts)
}

// ConvertToNative implements ref.Val.
func (l *labels) ConvertToNative(t reflect.Type) (any, error) { return l.plain().ConvertToNative(t) }

// ConvertToType implements ref.Val.
func (l *labels) ConvertToType(t ref.Type) ref.Val { return l.plain().ConvertToType(t) }

// Equal reports whether the other value is a map with equal entries.
func (l *labels) Equal(other ref.Val) ref.Val {
	if o, ok := other.(*labels); ok {
		return types.Bool(maps.Equal(l.texts, o.texts))
	}
	return l.plain().Equal(other)
}

// Type implements ref.Val.
func (l *labels) Type() ref.Type { return types.MapType }

// Value returns the Go map.
func (l *labels) Value() any { return l.texts }

// clock maps the time zones named in conditions to local times.
type clock struct {
	labels
	at    time.Time
	zones map[string]*time.Location
	of    func(time.Time) ref.Val
}

// Find returns the local time in a time zone, or an error for an unknown zone, which only saved conditions can name.
func (c *clock) Find(key ref.Val) (ref.Val, bool) {
	name, _ := key.(types.String)
	zone := c.zones[string(name)]
	if zone == nil {
		return types.NewErr("unknown time zone %q", string(name)), false
	}
	return c.of(c.at.In(zone)), true
}

// Get implements the index operator.
func (c *clock) Get(key ref.Val) ref.Val {
	value, _ := c.Find(key)
	return value
}
