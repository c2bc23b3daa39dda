package policy

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/policy/condition"
	"fairlead.dev/internal/route/predict"
)

// testInventory returns a small inventory: two providers, three models, one alias and two tags.
func testInventory() Inventory {
	return Inventory{
		Models:    []string{"gpt-4.1", "gpt-4.1-mini", "claude-sonnet"},
		Providers: []string{"openai", "anthropic"},
		Targets:   []string{"openai/gpt-4.1", "openai/gpt-4.1-mini", "anthropic/claude-sonnet"},
		Tags:      []string{"eu", "zdr"},
		Canonical: func(name string) (string, bool) {
			if name == "sonnet" {
				return "claude-sonnet", true
			}
			return "", false
		},
		Zone: zone,
	}
}

// zone returns one of two fixed time zones without reading the system's database.
func zone(name string) (*time.Location, error) {
	switch name {
	case "UTC":
		return time.UTC, nil
	case "Europe/Berlin":
		return time.FixedZone(name, 2*60*60), nil
	}
	return nil, errors.New("unknown time zone")
}

// facts returns the facts of an ordinary request in the night from Friday to Saturday.
func facts() *condition.Facts {
	return &condition.Facts{
		Request: condition.Request{
			Model: "auto", Auto: true, Op: llm.Chat, Format: "chat", Source: "key", Task: predict.Code, Language: "en",
			Tokens: 1200, Messages: 3, Choices: 1, Needs: llm.Tools, Stream: true, Objective: "auto", EndUser: "ada",
			Metadata: map[string]string{"app": "ide"}, Tags: map[string]string{"stage": "test"},
		},
		Key:       condition.Key{ID: "key_1", Name: "ci", Tags: map[string]string{"team": "infra", "cost": "7"}},
		Workspace: condition.Workspace{ID: "ws_1", Name: "Harbour"},
		Time:      condition.Time{At: time.Date(2026, 11, 6, 23, 30, 0, 0, time.UTC)},
	}
}

// parse parses policies that must be valid.
func parse(t testing.TB, source string) *Set {
	t.Helper()
	set, problems := Parse("workspace", []byte(source), testInventory())
	if len(problems) > 0 {
		t.Fatalf("problems:\n%s\nin\n%s", Pretty("policies.yaml", []byte(source), problems), source)
	}
	return set
}

// when returns a set with one policy that has the given condition.
func when(t testing.TB, condition string) *Set {
	t.Helper()
	return parse(t, "policies:\n  - name: p\n    pin: gpt-4.1\n    when: |-\n      "+strings.ReplaceAll(condition, "\n", "\n      ")+"\n")
}

// benchmarkSource returns n typical policies with two conditions each. A few of them match.
func benchmarkSource(n int) string {
	conditions := []string{
		`request.task == "code" && key.tags["team"] == "infra"`,
		`request.tokens > 100000 && !request.stream`,
		`request.task in ["maths", "code"] && request.tokens < 4000`,
		`key.name == "ci" && time.hour >= 22`,
		`request.language == "de" || request.metadata["app"] == "mail"`,
		`request.end_user.endsWith("@example.com") && request.tools`,
		`time.weekday in ["saturday", "sunday"] && workspace.name != "Harbour"`,
	}
	effects := []string{
		"allow: {models: [gpt-*, claude-*]}", "pin: gpt-4.1", "exclude: {providers: [anthropic]}", "objective: cost",
		"max_cost_usd: 0.02", "prefer: [gpt-4.1-mini]", "log_bodies: false",
	}
	var b strings.Builder
	b.WriteString("policies:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - name: policy-%d\n    when: '%s'\n    %s\n", i, conditions[i%len(conditions)], effects[i%len(effects)])
	}
	return b.String()
}
