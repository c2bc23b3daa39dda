package manual

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// adminReference is the page with the reference of the admin API. Documents link to openapi.json, from which it is generated.
const adminReference = "reference/admin-api"

const adminIntro = `# Admin API reference

This page lists every operation of the API that the dashboard and the command line use. It is generated from the OpenAPI document,
which the gateway serves at [/api/openapi.json](/api/openapi.json) with all fields of the responses. Errors: [Error codes](../errors.md).

Send an API key with the scope ` + "`read` or `manage`" + `:

` + "```sh" + `
curl -s http://127.0.0.1:8080/api/v1/requests -H "Authorization: Bearer $FAIRLEAD_API_KEY"
` + "```" + `

Amounts are decimal strings in US dollars, times are RFC 3339 in UTC, durations are integer milliseconds, and unknown values are
null. Operations with the permission ` + "`signed_in`" + ` need a session of the dashboard instead of a key.
`

// operation is one operation of the OpenAPI document.
type operation struct {
	Summary, Description string
	Tags                 []string
	Permission           string `json:"x-permission"`
	Parameters           []struct {
		Name, In, Description string
		Required              bool
		Schema                schemaRef
	}
	RequestBody struct {
		Content map[string]struct{ Schema schemaRef }
	}
	Responses map[string]struct {
		Content map[string]struct{ Schema schemaRef }
	}
}

type schemaRef struct {
	Ref         string `json:"$ref"`
	Description string
	Enum        []any
	Properties  map[string]*schemaRef
	Required    []string
}

// adminPage returns the reference of the admin API as Markdown.
func adminPage(openAPI []byte) ([]byte, error) {
	var spec struct {
		Paths      map[string]map[string]*operation
		Components struct{ Schemas map[string]*schemaRef }
	}
	if err := json.Unmarshal(openAPI, &spec); err != nil {
		return nil, fmt.Errorf("decode the OpenAPI document: %w", err)
	}
	byTag := map[string][]string{}
	for _, path := range slices.Sorted(maps.Keys(spec.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(spec.Paths[path])) {
			op := spec.Paths[path][method]
			tag := strings.Join(op.Tags, " ")
			byTag[tag] = append(byTag[tag], op.markdown(strings.ToUpper(method), "/api/v1"+path, spec.Components.Schemas))
		}
	}
	var b strings.Builder
	b.WriteString(adminIntro)
	for _, tag := range slices.Sorted(maps.Keys(byTag)) {
		fmt.Fprintf(&b, "\n## %s\n\n%s", strings.ToUpper(tag[:1])+strings.ReplaceAll(tag[1:], "-", " "), strings.Join(byTag[tag], "\n"))
	}
	return []byte(b.String()), nil
}

func (op *operation) markdown(method, path string, schemas map[string]*schemaRef) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n`%s %s`, permission `%s`", op.Summary, method, path, op.Permission)
	if ref := op.Responses["200"].Content["application/json"].Schema.Ref; ref != "" {
		fmt.Fprintf(&b, ", returns `%s`", refName(ref))
	}
	b.WriteString("\n")
	if op.Description != "" {
		b.WriteString("\n" + op.Description + "\n")
	}
	var rows []string
	for _, p := range op.Parameters {
		rows = append(rows, fmt.Sprintf("| `%s` | %s%s | %s |\n", p.Name, p.In, required(p.Required), describe(p.Description, p.Schema.Enum)))
	}
	body := op.RequestBody.Content["application/json"].Schema
	if s := schemas[refName(body.Ref)]; s != nil {
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			field := s.Properties[name]
			rows = append(rows, fmt.Sprintf("| `%s` | body%s | %s |\n", name, required(slices.Contains(s.Required, name)), describe(field.Description, field.Enum)))
		}
	}
	if len(rows) > 0 {
		b.WriteString("\n| name | in | description |\n|---|---|---|\n" + strings.Join(rows, ""))
	}
	return b.String()
}

func refName(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

func required(yes bool) string {
	if yes {
		return ", required"
	}
	return ""
}

// describe returns the description of a field with its permitted values, for a cell of a table.
func describe(description string, enum []any) string {
	var values []string
	for _, v := range enum {
		if v != nil {
			values = append(values, fmt.Sprintf("`%v`", v))
		}
	}
	if len(values) > 0 {
		description += " One of " + strings.Join(values, ", ") + "."
	}
	return strings.ReplaceAll(strings.Join(strings.Fields(description), " "), "|", `\|`)
}
