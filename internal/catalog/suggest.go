package catalog

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"fairlead.dev/internal/spelling"
)

// maxName is the length to which a name is truncated before it is compared, so that long input is cheap.
const maxName = 64

// Suggest returns up to n canonical names similar to an unknown name: with a common prefix, common words or few
// different letters. It excludes unrelated names and deprecated models.
func (c *Catalog) Suggest(name string, n int) []string {
	name = bare(strings.ToLower(name))
	if name == "" || n <= 0 {
		return nil
	}
	var all []near
	for _, m := range c.sorted {
		if m.Deprecated {
			continue
		}
		best := distance(name, strings.ToLower(m.Name))
		for _, alias := range m.Aliases {
			best = min(best, distance(name, strings.ToLower(alias)))
		}
		if best <= 0.6 {
			all = append(all, near{m.Name, best})
		}
	}
	return nearest(all, n)
}

// Nearest returns up to n names that are similar to name, most similar first. It uses the same measure as Suggest.
func Nearest(name string, names []string, n int) []string {
	name = bare(strings.ToLower(name))
	var all []near
	for _, one := range names {
		if d := distance(name, strings.ToLower(one)); name != "" && d <= 0.6 {
			all = append(all, near{one, d})
		}
	}
	return nearest(all, n)
}

type near struct {
	name     string
	distance float64
}

func nearest(all []near, n int) []string {
	slices.SortStableFunc(all, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	names := []string{}
	for _, one := range all[:min(n, len(all))] {
		names = append(names, one.name)
	}
	return names
}

// bare returns the part after the last slash, truncated between runes.
func bare(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	if len(name) <= maxName {
		return name
	}
	name = name[:maxName]
	for !utf8.ValidString(name) && name != "" {
		name = name[:len(name)-1]
	}
	return name
}

// distance returns 0 for equal names and 1 for unrelated ones.
func distance(a, b string) float64 {
	letters := float64(spelling.Edits(a, b)) / float64(max(len(a), len(b)))
	split := func(r rune) bool { return r == '-' || r == '_' || r == ':' || r == ' ' || r == '@' }
	wordsA, wordsB := strings.FieldsFunc(a, split), strings.FieldsFunc(b, split)
	shared := 0
	for _, word := range wordsA {
		if slices.Contains(wordsB, word) {
			shared++
		}
	}
	words := 1 - float64(2*shared)/float64(max(1, len(wordsA)+len(wordsB)))
	d := 0.6*letters + 0.4*words
	if strings.HasPrefix(a, b) || strings.HasPrefix(b, a) {
		d *= 0.5
	}
	return d
}
