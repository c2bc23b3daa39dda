package conventions

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// section returns the text of ARCHITECTURE.md between heading and the next heading.
func section(t *testing.T, heading string) string {
	t.Helper()
	_, rest, found := strings.Cut(readDocument(t, "ARCHITECTURE.md"), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("ARCHITECTURE.md has no section %q", heading)
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// TestArchitectureTreeMatchesPackages compares the tree in ARCHITECTURE.md with the packages. A line of the tree starts with one
// or more names that end in a slash. A line that is indented by two more spaces is a child of the line above.
func TestArchitectureTreeMatchesPackages(t *testing.T) {
	t.Parallel()
	_, tree, _ := strings.Cut(section(t, "The tree"), "```\n")
	tree, _, found := strings.Cut(tree, "```")
	if !found {
		t.Fatal("the section \"The tree\" has no code block")
	}
	named := treePaths(tree)
	for _, name := range named {
		if _, err := os.Stat(filepath.Join(repository(t), name)); err != nil {
			t.Errorf("the tree names %s, which does not exist", name)
		}
	}
	for name := range packages(t) {
		if !slices.Contains(named, name) {
			t.Errorf("the tree does not name %s: add a line", name)
		}
	}
}

func treePaths(tree string) []string {
	var paths, parents []string
	for line := range strings.Lines(tree) {
		depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		parents = parents[:min(depth, len(parents))]
		parent := path.Join(parents...)
		for i, word := range strings.Fields(line) {
			name, isDir := strings.CutSuffix(word, "/")
			if !isDir {
				break
			}
			paths = append(paths, path.Join(parent, name))
			if i == 0 {
				parents = append(parents, name)
			}
		}
	}
	return paths
}

var quoted = regexp.MustCompile("`([^`]+)`")

// quotedPackages returns the packages that Markdown text names in backticks, as paths in the repository.
func quotedPackages(text string) []string {
	var names []string
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		name := m[1]
		if top, _, _ := strings.Cut(name, "/"); top != "cmd" && top != "docs" && top != "train" && top != "web" {
			name = "internal/" + name
		}
		names = append(names, name)
	}
	return names
}

func TestArchitectureImportTableMatchesLayers(t *testing.T) {
	t.Parallel()
	var got [][]string
	for line := range strings.Lines(section(t, "Import rules")) {
		if strings.HasPrefix(line, "| `") {
			got = append(got, slices.Sorted(slices.Values(quotedPackages(strings.Split(line, "|")[1]))))
		}
	}
	var want [][]string
	for _, line := range layers {
		want = append(want, slices.Sorted(slices.Values(line)))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the import table of ARCHITECTURE.md differs from layers in imports_test.go (-layers +document):\n%s", diff)
	}
}

// exception matches an item of the list below the import table: packages, a rule, and the packages that the rule names.
var exception = regexp.MustCompile("(?m)^- ((?:`[^`]+` )+)(may import|imports only|also imports|never imports|imports? nothing of ours)([^\n]*)\\.$")

func TestArchitectureImportExceptionsMatchRules(t *testing.T) {
	t.Parallel()
	var got []string
	text := section(t, "Import rules")
	for _, m := range exception.FindAllStringSubmatch(text, -1) {
		rule := map[string]string{"may import": "may", "never imports": "never"}[m[2]]
		if rule == "" {
			rule = "only"
		}
		for _, name := range quotedPackages(m[1]) {
			got = append(got, importRule(name, rule, quotedPackages(m[3])))
		}
	}
	if items := strings.Count(text, "\n- "); items != len(exception.FindAllString(text, -1)) {
		t.Errorf("%d of %d exceptions in ARCHITECTURE.md match the pattern", len(exception.FindAllString(text, -1)), items)
	}
	var want []string
	for rule, table := range map[string]map[string][]string{"may": beside, "only": only, "never": never} {
		for name, imports := range table {
			if rule != "may" || len(imports) > 0 {
				want = append(want, importRule(name, rule, imports))
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the exceptions in ARCHITECTURE.md differ from the tables in imports_test.go (-tables +document):\n%s", diff)
	}
}

func importRule(name, rule string, imports []string) string {
	return fmt.Sprintf("%s %s %s", name, rule, strings.Join(slices.Sorted(slices.Values(imports)), " "))
}
