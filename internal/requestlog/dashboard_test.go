package requestlog

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite generated files")

// dashboardPath is the file with the filters of the dashboard, generated from Parameters.
const dashboardPath = "../../web/src/api/filters.ts"

func TestDashboardFiltersAreCurrent(t *testing.T) {
	t.Parallel()
	got := dashboardFilters()
	if *update {
		if err := os.WriteFile(dashboardPath, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(dashboardPath)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s is stale; run make generate", dashboardPath)
	}
}

// dashboardFilters returns the filters as TypeScript, without times and ids, for which the dashboard has its own controls.
func dashboardFilters() string {
	var b strings.Builder
	b.WriteString("// Generated from internal/requestlog by `make generate`. Do not edit.\n\n")
	b.WriteString("/** The request filters, in the order of their chips. */\nexport const filterDefinitions = [\n")
	for _, p := range Parameters() {
		if slices.Contains([]string{"from", "to", "id"}, p.Name) {
			continue
		}
		fmt.Fprintf(&b, "  { name: %s, label: %s, list: %t, example: %s },\n", strconv.Quote(p.Name), strconv.Quote(p.Label), p.List, strconv.Quote(p.Example))
	}
	b.WriteString("] as const;\n")
	return b.String()
}
