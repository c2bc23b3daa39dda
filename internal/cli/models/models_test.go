package models

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

func TestListModels(t *testing.T) {
	t.Parallel()
	l := newLab(t).WithProviders()
	out, _ := l.Run(cli.ExitOK, "models", "list")
	want := []string{
		"MODEL  PROVIDERS  CONTEXT  IN  OUT  CACHED  QUALITY  CAPABILITIES",
		"house-embed  good  —  $0.02000  —  —  —  —",
		"house-model  bad,good  128K  free  free  —  0.70  tools,vision",
	}
	got := clitest.Squeeze(out)
	if diff := cmp.Diff(want, got[:3]); diff != "" || len(got) != 4 || !strings.HasPrefix(got[3], "unpriced-model  bad  —  —  —  —  —") {
		t.Errorf("%s\n%s", diff, out)
	}
	out, _ = l.Run(cli.ExitOK, "models", "list", "--kind", "embedding", "--json")
	rows := clitest.Lines(t, out)
	if len(rows) != 1 || rows[0]["name"] != "house-embed" || rows[0]["kind"] != "embeddings" {
		t.Fatalf("embeddings: %s", out)
	}
	price := rows[0]["targets"].([]any)[0].(map[string]any)["price"].(map[string]any)
	if price["input_per_mtok_usd"] != "0.02" {
		t.Errorf("price: got %v, want input 0.02", price)
	}
	out, _ = l.Run(cli.ExitOK, "models", "list", "--provider", "good", "--kind", "chat", "--json")
	if rows := clitest.Lines(t, out); len(rows) != 1 || len(rows[0]["targets"].([]any)) != 1 {
		t.Errorf("chat models of good: %s", out)
	}
}

func TestListAllModels(t *testing.T) {
	t.Parallel()
	l := newLab(t).WithProviders()
	out, _ := l.Run(cli.ExitOK, "models", "list", "--all", "--json")
	rows := clitest.Lines(t, out)
	if len(rows) < 100 {
		t.Fatalf("only %d models", len(rows))
	}
	configured := 0
	for i, row := range rows {
		if i > 0 && rows[i-1]["name"].(string) >= row["name"].(string) {
			t.Errorf("%s is out of order or repeated", row["name"])
		}
		for _, target := range row["targets"].([]any) {
			if target.(map[string]any)["configured"] == true {
				configured++
			}
		}
	}
	if configured != 4 {
		t.Errorf("got %d configured targets, want 4", configured)
	}
	_, err := l.Run(cli.ExitOK, "models", "list", "--provider", "nobody")
	clitest.MustContain(t, err, "no models match. Use --all to include the catalog")
}
