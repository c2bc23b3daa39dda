package admin

import (
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// nearestField finds the field of the body's schema that a misspelt path probably means; empty when none is near.
func (a *API) nearestField(op *huma.Operation, at string) string {
	if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		return ""
	}
	registry := a.huma.OpenAPI().Components.Schemas
	schema := resolve(registry, op.RequestBody.Content["application/json"].Schema)
	segments := strings.Split(at, ".")
	for _, name := range segments[:len(segments)-1] {
		name, _, _ = strings.Cut(name, "[")
		if schema == nil || schema.Properties[name] == nil {
			return ""
		}
		schema = resolve(registry, schema.Properties[name])
		if schema != nil && schema.Items != nil {
			schema = resolve(registry, schema.Items)
		}
	}
	if schema == nil {
		return ""
	}
	return nearest(segments[len(segments)-1], slices.Sorted(maps.Keys(schema.Properties)))
}

func resolve(registry huma.Registry, s *huma.Schema) *huma.Schema {
	for s != nil && s.Ref != "" {
		s = registry.SchemaFromRef(s.Ref)
	}
	return s
}

// maxSuggested bounds the work on a name that nobody misspelt.
const maxSuggested = 64

// nearest returns the name with the fewest edits to the given one, if these are few for its length.
func nearest(name string, known []string) string {
	if len(name) > maxSuggested {
		return ""
	}
	best, bestEdits := "", max(2, len(name)/3)+1
	for _, candidate := range known {
		if n := edits(strings.ToLower(name), strings.ToLower(candidate)); n < bestEdits {
			best, bestEdits = candidate, n
		}
	}
	return best
}

// edits is the Levenshtein distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
