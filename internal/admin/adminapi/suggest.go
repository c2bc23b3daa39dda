package adminapi

import (
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/spelling"
)

// nearestField returns the field name in the body's schema that is closest to the misspelt last segment of a dotted field path,
// or an empty string.
func (s *Server) nearestField(op *huma.Operation, at string) string {
	if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		return ""
	}
	registry := s.huma.OpenAPI().Components.Schemas
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
	return spelling.Closest(segments[len(segments)-1], slices.Sorted(maps.Keys(schema.Properties)))
}

func resolve(registry huma.Registry, s *huma.Schema) *huma.Schema {
	for s != nil && s.Ref != "" {
		s = registry.SchemaFromRef(s.Ref)
	}
	return s
}
