package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fairlead.dev/test/faults"
)

var (
	link   = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
	target = regexp.MustCompile("`make ([a-z-]+)")
)

// The make targets and files that the reliability pages mention must exist.
func TestPagesMentionExistingTargetsAndFiles(t *testing.T) {
	t.Parallel()
	makefile := read(t, "Makefile")
	for _, page := range []string{"docs/reliability.md", "docs/guides/upgrade.md", "docs/guides/deploy.md", "docs/guides/install.md"} {
		text := read(t, page)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root(t), filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile(`(?m)^` + m[1] + `:`).MatchString(makefile) {
				t.Errorf("%s mentions the make target %s, which does not exist", page, m[1])
			}
		}
	}
}

// The table of figures is generated from the fault catalogue, so each row must be an existing case.
func TestFiguresTableListsExistingCases(t *testing.T) {
	t.Parallel()
	_, rest, found := strings.Cut(read(t, "docs", "reliability.md"), "<!-- figures: made by make faults-table -->\n")
	table, _, ends := strings.Cut(rest, "<!-- end of figures -->")
	if !found || !ends {
		t.Fatal("reliability.md lacks the markers around the table of figures")
	}
	known := map[string]bool{}
	for _, c := range faults.Cases() {
		known[c.ID] = true
	}
	for _, m := range regexp.MustCompile(`(?m)^\| (F\d\d\S*) \|`).FindAllStringSubmatch(table, -1) {
		if !known[m[1]] {
			t.Errorf("the table lists %s, which is not in the fault catalogue", m[1])
		}
	}
}
