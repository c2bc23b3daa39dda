package policy

import (
	"fmt"
	"strings"
	"testing"
)

// benchmarkSource returns n typical policies with two conditions each. A few of them match.
func benchmarkSource(n int) string {
	conditions := []string{
		`request.task == "code" && key.tags["team"] == "infra"`,
		`request.tokens > 100000 && !request.stream`,
		`request.task in ["maths", "reasoning"] && request.tokens < 4000`,
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

func BenchmarkEvaluate(b *testing.B) {
	for _, n := range []int{0, 1, 20, 50, 200} {
		b.Run(fmt.Sprintf("policies=%d", n), func(b *testing.B) {
			set, f := parse(b, benchmarkSource(n)), facts()
			b.ReportAllocs()
			for b.Loop() {
				o := set.Evaluate(f)
				if o.Deny != nil {
					b.Fatal("the request was denied")
				}
			}
		})
	}
}

func BenchmarkReasons(b *testing.B) {
	set, f := parse(b, benchmarkSource(20)), facts()
	b.ReportAllocs()
	for b.Loop() {
		o := set.Evaluate(f)
		for _, hit := range o.Hits {
			if hit.Reason(f) == hit.Effect() {
				b.Fatal("a hit has neither reason nor effect")
			}
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{1, 20, 200} {
		b.Run(fmt.Sprintf("policies=%d", n), func(b *testing.B) {
			source := []byte(benchmarkSource(n))
			b.SetBytes(int64(len(source)))
			for b.Loop() {
				if _, problems := Parse("workspace", source, testInventory()); len(problems) > 0 {
					b.Fatal(problems)
				}
			}
		})
	}
}
