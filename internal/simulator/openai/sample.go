package openai

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

func (g *sampler) object(s schema, at spot) json.RawMessage {
	names := slices.DeleteFunc(slices.Clone(s.Properties.names), func(name string) bool {
		fillAll := len(s.Required) == 0 && at.depth <= shallowDepth
		return !fillAll && !slices.Contains(s.Required, name)
	})
	for _, name := range s.Required { // a required member without a schema can have any value
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var out bytes.Buffer
	out.WriteByte('{')
	for i, name := range names {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(Encode(name))
		out.WriteByte(':')
		described, ok := s.Properties.values[name]
		if !ok {
			described = json.RawMessage(`{"type":"string"}`)
		}
		out.Write(g.value(described, spot{name: name, nth: at.nth, depth: at.depth + 1}))
	}
	out.WriteByte('}')
	return out.Bytes()
}

func (g *sampler) array(s schema, at spot) json.RawMessage {
	n := 1 + g.draws.IntN(2)
	if at.depth > shallowDepth {
		n = 0
	}
	n = max(n, len(s.PrefixItems))
	if s.MaxItems != nil {
		n = min(n, *s.MaxItems)
	}
	n = min(max(n, s.MinItems), maxNodes)
	var out bytes.Buffer
	out.WriteByte('[')
	for i := range n {
		if i > 0 {
			out.WriteByte(',')
		}
		item := s.Items
		if i < len(s.PrefixItems) {
			item = s.PrefixItems[i]
		}
		if item == nil {
			item = json.RawMessage(`{"type":"string"}`)
		}
		out.Write(g.value(item, spot{name: at.name, nth: i, depth: at.depth + 1}))
	}
	out.WriteByte(']')
	return out.Bytes()
}

// number draws a number from 1 to 100 and moves it into the allowed range.
func (g *sampler) number(s numeric, at spot, integer bool) json.RawMessage {
	step := s.MultipleOf
	if integer && (step <= 0 || step != math.Trunc(step)) {
		step = 1
	}
	low, high := s.bounds(integer)
	v := float64(1+g.draws.IntN(100)) + float64(at.nth)
	if !integer && step <= 0 {
		return numeral(inside(v+0.5, low, high), -1)
	}
	v = inside(v, low, high)
	v = math.Ceil(v/step) * step
	if v > high {
		v = math.Floor(high/step) * step
	}
	precision := -1
	if integer {
		precision = 0
	}
	return numeral(v, precision)
}

// numeral formats a number. Infinite values, which extreme bounds can cause, become 0.
func numeral(v float64, precision int) json.RawMessage {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		v = 0
	}
	return json.RawMessage(strconv.FormatFloat(v, 'f', precision, 64))
}

func (s numeric) bounds(integer bool) (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	if s.Minimum != nil {
		low = *s.Minimum
	}
	if s.Maximum != nil {
		high = *s.Maximum
	}
	above, below := low, high
	if s.ExclusiveMinimum != nil {
		above = max(low, *s.ExclusiveMinimum)
	}
	if s.ExclusiveMaximum != nil {
		below = min(high, *s.ExclusiveMaximum)
	}
	away := (below - above) / 4 // the distance to keep from an exclusive bound
	if integer || math.IsInf(below-above, 0) {
		away = 1
	}
	if s.ExclusiveMinimum != nil {
		low = max(low, *s.ExclusiveMinimum+away)
	}
	if s.ExclusiveMaximum != nil {
		high = min(high, *s.ExclusiveMaximum-away)
	}
	return low, high
}

func inside(v, low, high float64) float64 {
	if v < low {
		v = min(math.Ceil(low), high)
	}
	if v > high {
		v = max(math.Floor(high), low)
	}
	return v
}

func (g *sampler) text(s text, at spot) string {
	formats := map[string]string{ // a valid value for each format that validators commonly check
		"date-time": "2026-01-01T12:00:00Z", "date": "2026-01-01", "time": "12:00:00Z", "duration": "PT1H",
		"email": "simulated@example.com", "hostname": "simulated.example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
		"uuid": "00000000-0000-4000-8000-000000000000", "uri": "https://example.com/simulated", "url": "https://example.com/simulated",
	}
	if value, ok := formats[s.Format]; ok {
		return value
	}
	if s.Pattern != "" {
		if re, err := syntax.Parse(s.Pattern, syntax.Perl); err == nil {
			return shortest(re)
		}
	}
	value := strings.TrimSpace("SIMULATED " + at.name)
	if at.nth > 0 {
		value += " " + strconv.Itoa(at.nth+1)
	}
	if missing := s.MinLength - utf8.RuneCountInString(value); missing > 0 {
		value += strings.Repeat(".", min(missing, maxNodes))
	}
	if s.MaxLength != nil {
		value = string([]rune(value)[:min(max(*s.MaxLength, 0), utf8.RuneCountInString(value))])
	}
	return value
}

// shortest returns a short string that the expression matches.
func shortest(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		return string(printable(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "a"
	case syntax.OpCapture, syntax.OpPlus:
		return shortest(re.Sub[0])
	case syntax.OpRepeat:
		return strings.Repeat(shortest(re.Sub[0]), min(re.Min, maxNodes))
	case syntax.OpAlternate:
		return shortest(re.Sub[0])
	case syntax.OpConcat:
		var out strings.Builder
		for _, sub := range re.Sub {
			out.WriteString(shortest(sub))
		}
		return out.String()
	default: // anchors and optional parts
		return ""
	}
}

// printable returns a rune from a class, which is given as pairs of bounds. It prefers letters and digits.
func printable(pairs []rune) rune {
	if len(pairs) == 0 {
		return 'a'
	}
	for _, wanted := range "aA0_- " {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] <= wanted && wanted <= pairs[i+1] {
				return wanted
			}
		}
	}
	return max(pairs[0], min(' ', pairs[1]))
}
