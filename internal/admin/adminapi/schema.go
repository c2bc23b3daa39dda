package adminapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/route"
)

// OpenAPI returns the OpenAPI document of the operations.
func (s *Server) OpenAPI() ([]byte, error) { return s.document() }

// config disables the pages, schema links and documents that huma adds by default.
func (s *Server) config() huma.Config {
	c := huma.DefaultConfig("Fairlead admin API", "1")
	c.CreateHooks = nil // its only hook adds $schema to bodies
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "", "", ""
	c.Formats = map[string]huma.Format{"application/json": jsonFormat(), "json": jsonFormat()} // "json" is for …+json
	c.Transformers = []huma.Transformer{s.transform}
	c.Info.Description = "API of the dashboard and the command line. Amounts are decimal strings in US dollars, times are RFC 3339 in UTC, " +
		"durations are integer milliseconds named …_ms, and unknown values are null. Errors have the form {error, code, details}."
	c.Servers = []*huma.Server{{URL: Prefix}}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"session": {Type: "apiKey", In: "cookie", Name: SessionCookie, Description: "Session cookie set by create-session. Changes must come from the same origin."},
		"key":     {Type: "http", Scheme: "bearer", Description: "API key with the read or manage scope."},
	}
	registry := c.Components.Schemas
	registry.RegisterTypeAlias(reflect.TypeFor[money.Amount](), reflect.TypeFor[dollars]())
	registry.RegisterTypeAlias(reflect.TypeFor[llm.Abilities](), reflect.TypeFor[[]string]())
	registry.RegisterTypeAlias(reflect.TypeFor[route.Exclusion](), reflect.TypeFor[Exclusion]())
	registry.RegisterTypeAlias(reflect.TypeFor[route.PolicyHit](), reflect.TypeFor[PolicyHit]())
	return c
}

// Exclusion documents route.Exclusion.
type Exclusion struct {
	Code   route.Reason `json:"code"`
	Reason string       `json:"reason" doc:"Readable description."`
}

// PolicyHit documents route.PolicyHit.
type PolicyHit struct {
	Name    string `json:"name"`
	Source  string `json:"source,omitempty" doc:"instance or workspace."`
	Matched bool   `json:"matched"`
	Effect  string `json:"effect,omitempty" doc:"Effect of the policy if it matched."`
	Reason  string `json:"reason,omitempty" doc:"Why the policy did not match."`
}

// dollars documents money.Amount.
type dollars string

// Schema returns the schema of an amount.
func (dollars) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Pattern: `^-?[0-9]{1,9}(\.[0-9]{1,9})?$`, PatternDescription: "US dollars, such as 12.5",
		Examples: []any{"12.5"},
	}
}

// ErrorBody is the body of every error.
type ErrorBody struct {
	Error   string       `json:"error" doc:"Error message for people."`
	Code    string       `json:"code" example:"INVALID_REQUEST"`
	Details ErrorDetails `json:"details"`
}

// ErrorDetails describes an error. Some errors have additional fields.
type ErrorDetails struct {
	_         struct{}  `additionalProperties:"true"`
	RequestID string    `json:"request_id"`
	Origin    string    `json:"origin" enum:"client,gateway,policy,provider"`
	Retryable bool      `json:"retryable" doc:"Whether the same request can succeed later."`
	DocURL    string    `json:"doc_url" doc:"Documentation of the code."`
	Param     string    `json:"param,omitempty" doc:"Invalid field."`
	Problems  []Problem `json:"problems,omitempty" doc:"All problems found in the request."`
}

// Spec returns the specification of the operations.
func (s *Server) Spec() *huma.OpenAPI {
	s.ready()
	return s.huma.OpenAPI()
}

// Schema returns the schema of a type, for responses that are not built from an output struct.
func (s *Server) Schema(t reflect.Type) *huma.Schema {
	return s.huma.OpenAPI().Components.Schemas.Schema(t, true, "")
}

// DocumentAs uses the schema of documented for t.
func (s *Server) DocumentAs(t, documented reflect.Type) {
	s.huma.OpenAPI().Components.Schemas.RegisterTypeAlias(t, documented)
}

// errorResponse documents the errors of an operation.
func (s *Server) errorResponse() *huma.Response {
	return &huma.Response{
		Description: "Error",
		Content: map[string]*huma.MediaType{"application/json": {
			Schema: s.Schema(reflect.TypeFor[ErrorBody]()),
		}},
	}
}

// finishSchemas corrects the schemas of huma: lists are never null, and errors are ErrorBody.
func (s *Server) finishSchemas() {
	doc := s.huma.OpenAPI()
	schemas := doc.Components.Schemas.Map()
	delete(schemas, "ErrorModel")
	delete(schemas, "ErrorDetail")
	for _, s := range schemas {
		neverNull(s)
	}
	for _, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op == nil {
				continue
			}
			for _, p := range op.Parameters {
				neverNull(p.Schema)
			}
		}
	}
}

// neverNull marks the lists of a schema as not nullable.
func neverNull(s *huma.Schema) {
	if s == nil {
		return
	}
	if s.Type == huma.TypeArray {
		s.Nullable = false
	}
	neverNull(s.Items)
	for _, p := range s.Properties {
		neverNull(p)
	}
	if extra, ok := s.AdditionalProperties.(*huma.Schema); ok {
		neverNull(extra)
	}
}

// openAPI encodes the document with sorted keys, so that diffs are small.
func (s *Server) openAPI() ([]byte, error) {
	raw, err := json.Marshal(s.Spec())
	if err != nil {
		return nil, fmt.Errorf("encode OpenAPI document: %w", err)
	}
	var doc any
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("read OpenAPI document: %w", err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(nullableRefs(doc)); err != nil {
		return nil, fmt.Errorf("encode OpenAPI document: %w", err)
	}
	return b.Bytes(), nil
}

// nullableRefs rewrites nullable references as anyOf, as OpenAPI 3.1 requires. huma does not support them.
func nullableRefs(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"]; ok && v[mayBeNull] == true {
			out := map[string]any{"anyOf": []any{map[string]any{"$ref": ref}, map[string]any{"type": "null"}}}
			if d, ok := v["description"]; ok {
				out["description"] = d
			}
			return out
		}
		for name, member := range v {
			v[name] = nullableRefs(member)
		}
	case []any:
		for i := range v {
			v[i] = nullableRefs(v[i])
		}
	}
	return v
}
