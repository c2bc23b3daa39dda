package manual_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	messages "fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/responses"
)

var update = flag.Bool("update", false, "rewrite the generated parts of docs")

const docsDir = "../../docs/"

func readDoc(t *testing.T, name string) string {
	t.Helper()
	body, err := os.ReadFile(docsDir + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// compare fails the test if a page differs from its generated text. With -update, it writes the page instead.
func compare(t *testing.T, name, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(docsDir+name, []byte(want), 0o644); err != nil { //nolint:gosec // the document is public
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, readDoc(t, name)); diff != "" {
		t.Errorf("docs/%s is stale, run make generate (-want +got):\n%s", name, diff)
	}
}

var codeSection = regexp.MustCompile(`(?m)^## ([A-Z_]+)\n\n(?:<!-- table -->|\| class .*\n(?:\|.*\n)+)`)

// Every code of the model API and the admin API has a section with the statuses and types that clients receive.
func TestErrorPageIsCurrent(t *testing.T) {
	t.Parallel()
	kinds := map[string][]llm.Kind{}
	for _, k := range llm.Kinds() {
		kinds[k.Code()] = append(kinds[k.Code()], k)
	}
	text := readDoc(t, "errors.md")
	documented := map[string]bool{}
	want := codeSection.ReplaceAllStringFunc(text, func(head string) string {
		code := codeSection.FindStringSubmatch(head)[1]
		documented[code] = true
		return "## " + code + "\n\n" + classTable(t, kinds[code])
	})
	compare(t, "errors.md", want)
	for code := range kinds {
		if !documented[code] {
			t.Errorf("docs/errors.md has no section for %s", code)
		}
	}
	for code := range documented {
		if kinds[code] == nil {
			t.Errorf("docs/errors.md describes %s, which does not exist", code)
		}
	}
}

// classTable returns the table of the error classes of one code.
func classTable(t *testing.T, kinds []llm.Kind) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| class | status | retryable | origin | `/messages` | `/responses` |\n|---|---|---|---|---|---|\n")
	for _, k := range kinds {
		retryable := map[bool]string{true: "yes", false: "no"}[k.Retryable()]
		anthropic, failed := typesOf(t, k)
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s | `%s` | `%s` |\n", k, k.Status(), retryable, k.Origin(), anthropic, failed)
	}
	return b.String()
}

// typesOf returns the error type on /messages and the code of the event response.failed.
func typesOf(t *testing.T, k llm.Kind) (anthropic, failed string) {
	t.Helper()
	e := llm.Errorf(k, "It failed.")
	var body struct{ Error struct{ Type string } }
	if err := json.Unmarshal(messages.Format{}.ErrorBody(e, "req_1"), &body); err != nil {
		t.Fatal(err)
	}
	framing := responses.Format{}.Framing()
	var out bytes.Buffer
	if err := framing.WriteEvent(&out, llm.Event{Name: "response.created", Data: []byte(`{"type":"response.created","response":{"id":"resp_1"}}`)}); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := framing.WriteError(&out, e.Body("req_1"), 1); err != nil {
		t.Fatal(err)
	}
	_, last, _ := strings.Cut(out.String(), "event: response.failed\ndata: ")
	var event struct {
		Response struct{ Error struct{ Code string } }
	}
	if err := json.Unmarshal([]byte(strings.TrimSpace(last)), &event); err != nil {
		t.Fatalf("decode event: %v in %s", err, out.String())
	}
	return body.Error.Type, event.Response.Error.Code
}

// node is one setting in the JSON Schema of the configuration.
type node struct {
	Ref         string `json:"$ref"`
	Description string
	Type        any
	Default     any
	Enum        []any
	Minimum     *float64
	Maximum     *float64
	Properties  map[string]*node
	Items       *node
	Defs        map[string]*node `json:"$defs"`
	Values      json.RawMessage  `json:"additionalProperties"`
}

func TestConfigurationReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	var schema node
	if err := json.Unmarshal([]byte(readDoc(t, "config.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(configurationIntro)
	var scalars []string
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if len(schema.rows(schema.Properties[name], name)) == 0 {
			scalars = append(scalars, name)
		}
	}
	b.WriteString("\n## General\n\n" + settingHead)
	for _, name := range scalars {
		b.WriteString(row(name, schema.Properties[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if slices.Contains(scalars, name) {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n%s", name, cell(schema.Properties[name].Description), settingHead)
		b.WriteString(strings.Join(schema.rows(schema.Properties[name], name), ""))
	}
	compare(t, "reference/configuration.md", b.String())
}

const settingHead = "| setting | type | default | description |\n|---|---|---|---|\n"

const configurationIntro = `# Configuration reference

This page lists every setting of fairlead.yaml with its type and default. It is generated from the JSON Schema of the file, which the
gateway serves at [/config.schema.json](/config.schema.json) for editors. How to write, check and reload the file:
[Operate the gateway](../guides/operation.md#configure).

The environment variable of a setting is its path in capital letters: ` + "`timeouts.idle` is `FAIRLEAD_TIMEOUTS_IDLE`" + `. Durations are
written like ` + "`90s`, `10m` or `30d`, sizes like `64MiB`. `${NAME}` and `file:/path`" + ` insert a secret from the environment or a file.
In paths, ` + "`[]`" + ` stands for an element of a list and ` + "`{}`" + ` for a name of your choice.
`

// resolve follows a reference to a definition.
func (n *node) resolve(s *node) *node {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok && n.Defs[name] != nil {
		return n.Defs[name]
	}
	return s
}

// rows returns the table rows of the settings below one setting.
func (n *node) rows(s *node, path string) []string {
	s = n.resolve(s)
	var list []string
	add := func(child *node, at string) {
		below := n.rows(child, at)
		list = append(list, row(at, n.resolve(child)))
		list = append(list, below...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		add(s.Properties[name], path+"."+name)
	}
	if s.Items != nil && len(n.resolve(s.Items).Properties) > 0 {
		list = append(list, n.rows(s.Items, path+"[]")...)
	}
	var values node
	if len(s.Values) > 0 && s.Values[0] == '{' && json.Unmarshal(s.Values, &values) == nil && len(n.resolve(&values).Properties) > 0 {
		list = append(list, n.rows(&values, path+".{}")...)
	}
	return list
}

func row(path string, s *node) string {
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", path, typeText(s), defaultText(s.Default), cell(s.Description+bounds(s)))
}

func typeText(s *node) string {
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		var names []string
		for _, name := range t {
			if name != "null" {
				names = append(names, fmt.Sprint(name))
			}
		}
		return strings.Join(names, " or ")
	}
	return ""
}

func defaultText(v any) string {
	if v == nil {
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil || len(text) == 0 {
		return ""
	}
	return "`" + strings.ReplaceAll(strings.Trim(string(text), `"`), "|", `\|`) + "`"
}

func bounds(s *node) string {
	var parts []string
	var values []string
	for _, v := range s.Enum {
		if v != nil {
			values = append(values, fmt.Sprintf("`%v`", v))
		}
	}
	if len(values) > 0 {
		parts = append(parts, "One of "+strings.Join(values, ", ")+".")
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		parts = append(parts, fmt.Sprintf("From %s to %s.", number(*s.Minimum), number(*s.Maximum)))
	case s.Minimum != nil && *s.Minimum > 1:
		parts = append(parts, fmt.Sprintf("At least %s.", number(*s.Minimum)))
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + strings.Join(parts, " ")
}

func number(f float64) string { return strings.TrimSuffix(fmt.Sprintf("%.6f", f), ".000000") }

func cell(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`))
}
