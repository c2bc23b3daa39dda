package policies

import (
	"strings"
	"testing"

	"fairlead.dev/internal/policy"
)

func TestLongDiffHasGaps(t *testing.T) {
	t.Parallel()
	before := strings.Repeat("x\n", 20)
	after := "a\n" + before + "@@ -1,1 +1,1 @@\n"
	kinds := ""
	for _, line := range diffLines(policy.Diff([]byte(before), []byte(after))) {
		kinds += line.Kind[:1]
	}
	if kinds != "asss"+"gsssa" {
		t.Errorf("kinds = %q, want asssgsssa", kinds)
	}
}

// FuzzDiffLines checks that diffLines neither loses a line nor assigns a wrong line number.
func FuzzDiffLines(f *testing.F) {
	f.Add("policies:\n  - name: a\n    pin: gpt\n", "policies:\n  - name: b\n    deny: closed\n")
	f.Add("", "@@ -1,1 +1,1 @@\n")
	f.Add("a\n\nb", "a\n-\n+\nb\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		old, fresh := textLines(before), textLines(after)
		for _, line := range diffLines(policy.Diff([]byte(before), []byte(after))) {
			if line.Old != nil && old[*line.Old-1] != line.Text || line.New != nil && fresh[*line.New-1] != line.Text {
				t.Errorf("line %+v has a wrong number or text", line)
			}
			if (line.Kind == "gap") != (line.Old == nil && line.New == nil) {
				t.Errorf("line %+v: only a gap has no number", line)
			}
		}
	})
}

func textLines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }
