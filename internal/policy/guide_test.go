package policy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fairlead.dev/internal/policy/condition"
)

// guide returns the text of the user guide to policies.
func guide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "policies.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var example = regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```$")

func TestGuideExamplesAreValid(t *testing.T) {
	t.Parallel()
	examples := example.FindAllStringSubmatch(guide(t), -1)
	if len(examples) < 13 {
		t.Errorf("%d examples, want at least 13: one example and twelve recipes", len(examples))
	}
	for _, m := range examples {
		source := strings.ReplaceAll("\n"+m[2], "\n"+m[1], "\n")
		set, problems := Parse("guide", []byte(source), Inventory{AllowUnknown: true, Zone: zone})
		if len(problems) > 0 {
			t.Errorf("%s", Pretty("guide", []byte(source), problems))
			continue
		}
		if set.Len() == 0 {
			t.Errorf("no policy in\n%s", source)
		}
	}
}

func TestGuideNamesEveryFieldValueAndFunction(t *testing.T) {
	t.Parallel()
	text := guide(t)
	wanted := append(fieldNames(), append(condition.Functions(), condition.Iterations()...)...)
	for _, f := range condition.Fields() {
		wanted = append(wanted, f.Name)
		if f.Name != "time.weekday" {
			wanted = append(wanted, f.Values...)
		}
	}
	for _, name := range wanted {
		if !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, "`"+name+"(") {
			t.Errorf("the guide does not name `%s`", name)
		}
	}
}

func TestFieldsAreDescribed(t *testing.T) {
	t.Parallel()
	for _, f := range condition.Fields() {
		if f.Doc == "" || f.Type == "" || strings.HasPrefix(f.Name, "@") {
			t.Errorf("incomplete field: %+v", f)
		}
	}
}
