package models

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

// priceList is a small price list in the format of models.dev.
const priceList = `{"openai": {"models": {
  "gpt-4.1": {"id": "gpt-4.1", "cost": {"input": 1.8, "output": 7.2, "cache_read": 0.45}},
  "gpt-4o": {"id": "gpt-4o", "cost": {"input": 2.5, "output": 10, "cache_read": 1.25}},
  "gpt-5": {"id": "gpt-5", "cost": {"input": 0.125, "output": 1}},
  "gpt-5-mini": {"id": "gpt-5-mini", "cost": {"input": 0, "output": 0}},
  "gpt-9": {"id": "gpt-9", "tool_call": true, "limit": {"context": 400000, "output": 128000}, "cost": {"input": 1, "output": 4}}
}}, "openrouter": {"models": {"x-ai/grok-4.7": {"id": "x-ai/grok-4.7", "cost": {"input": 2, "output": 6}}}}}`

func writeList(l *clitest.Lab, text string) string {
	l.T.Helper()
	path := filepath.Join(l.T.TempDir(), "list.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		l.T.Fatal(err)
	}
	return path
}

func TestImportShowsAndStoresChanges(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	path := writeList(l, priceList)
	out, err := l.Run(cli.ExitOK, "models", "import", path, "--dry-run")
	clitest.Golden(t, "import.txt", out)
	clitest.MustContain(t, err, "1 new and 1 changed would be stored, 2 rejected, 0 kept (set by hand), 1 unchanged, 1 not in the catalog")
	if _, missing := os.Stat(filepath.Join(l.Dir, "prices", "prices.json")); missing == nil {
		t.Error("a dry run stored prices")
	}
	out, _ = l.Run(cli.ExitOK, "models", "import", path, "--json")
	rows := clitest.Lines(t, out)
	if len(rows) != 4 || rows[0]["state"] != "changed" || rows[0]["old_input_per_mtok_usd"] != "2" || rows[0]["new_input_per_mtok_usd"] != "1.8" {
		t.Errorf("JSON: %s", out)
	}
	out, _ = l.Run(cli.ExitOK, "models", "show", "gpt-4.1")
	clitest.Golden(t, "model.txt", out)
	out, err = l.Run(cli.ExitOK, "models", "import", path)
	if strings.Contains(out, "changed") || !strings.Contains(err, "0 new and 0 changed stored, 2 rejected") {
		t.Errorf("the same list again: %s%s", out, err)
	}
	_, err = l.Run(cli.ExitOK, "models", "import", path, "--yes-jumps", "--new-models")
	clitest.MustContain(t, err, "1 new and 1 changed stored, 1 rejected")
	out, _ = l.Run(cli.ExitOK, "models", "list", "--all", "--provider", "openai")
	clitest.MustContain(t, out, "gpt-9")
}

func TestImportFromTheNetworkAndStandardInput(t *testing.T) {
	t.Parallel()
	var agent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agent = r.UserAgent()
		_, _ = w.Write([]byte(priceList))
	}))
	t.Cleanup(server.Close)
	l := newLab(t)
	_, err := l.Run(cli.ExitFailed, "models", "import", server.URL+"/api.json")
	clitest.MustContain(t, err, "error:") // a private address, which is not allowed
	l.Configure("catalog: {url: " + server.URL + "/api.json}\n")
	_, err = l.Run(cli.ExitOK, "models", "import", server.URL+"/api.json", "--dry-run")
	clitest.MustContain(t, err, "1 new and 1 changed would be stored")
	if !strings.HasPrefix(agent, "fairlead/") {
		t.Errorf("user agent %q", agent)
	}
	l.Console.In = strings.NewReader(priceList)
	_, err = l.Run(cli.ExitOK, "models", "import", "-", "--dry-run")
	clitest.MustContain(t, err, "1 new and 1 changed would be stored")
}

func TestPriceIsSetAndRemoved(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	out, _ := l.Run(cli.ExitOK, "models", "price", "openai/gpt-4.1", "--input", "1.5", "--output", "6", "--cache-read", "0.4")
	clitest.MustContain(t, out, "openai/gpt-4.1 costs $1.50 in, $6.00 out per million tokens (override)")
	_, err := l.Run(cli.ExitOK, "models", "import", writeList(l, priceList), "--dry-run")
	clitest.MustContain(t, err, "1 kept (set by hand)")
	l.Console.Now = func() time.Time { return clitest.Noon.Add(time.Hour) }
	out, _ = l.Run(cli.ExitOK, "models", "price", "openai/gpt-4.1", "--output", "7", "--from", "2027-01-01")
	clitest.MustContain(t, out, "costs $1.50 in, $7.00 out", "from 2027-01-01")
	out, _ = l.Run(cli.ExitOK, "models", "show", "gpt-4.1")
	clitest.Golden(t, "model_history.txt", out)
	out, _ = l.Run(cli.ExitOK, "models", "price", "openai/gpt-4.1-mini", "--input", "0", "--output", "0")
	clitest.MustContain(t, out, "openai/gpt-4.1-mini costs nothing in, nothing out per million tokens (override)")
	l.Console.Now = func() time.Time { return clitest.Noon.Add(2 * time.Hour) }
	out, _ = l.Run(cli.ExitOK, "models", "price", "openai/gpt-4.1", "--remove", "--json")
	if row := clitest.Lines(t, out)[0]["price"].(map[string]any); row["input_per_mtok_usd"] != "2" || len(row["history"].([]any)) != 3 {
		t.Errorf("price after --remove: %s", out)
	}
	_, err = l.Run(cli.ExitFailed, "models", "price", "openai/gpt-4.1", "--remove")
	clitest.MustContain(t, err, "no price was imported or set by hand for openai/gpt-4.1")
}

func TestPriceForAllProvidersAppliesToConfiguredModel(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Configure(`simulator: "off"
models: [{name: house-model, input_per_mtok: 0.7, output_per_mtok: 2.1, cache_write_1h_per_mtok: 1.4}]
providers:
  - name: mine
    base_url: http://127.0.0.1:1/v1
    models: [{name: house-model, upstream: one}]
`)
	out, _ := l.Run(cli.ExitOK, "models", "list", "--json")
	clitest.MustContain(t, out, `"input_per_mtok_usd":"0.7"`, `"output_per_mtok_usd":"2.1"`, `"cache_write_1h_per_mtok_usd":"1.4"`)
}

func TestPriceCommandRejectsInvalidInput(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for want, args := range map[string][]string{
		`"gpt-4.1" does not have the form PROVIDER/MODEL`:             {"gpt-4.1", "--input", "1"},
		`invalid price --input "cheap"`:                               {"openai/gpt-4.1", "--input", "cheap"},
		`invalid price --output "-1"`:                                 {"openai/gpt-4.1", "--output=-1"},
		`a price requires --input or --output`:                        {"openai/gpt-4.1", "--cache-read", "1"},
		`has no price yet, so both --input and --output are required`: {"openai/gpt-99", "--input", "1"},
		`invalid time --from "soon"`:                                  {"openai/gpt-4.1", "--input", "1", "--from", "soon"},
		`provider "opnai" not found`:                                  {"opnai/gpt-4.1", "--input", "1", "--output", "4"},
		`did you mean "mistral"?`:                                     {"mistrall/small", "--input", "1", "--output", "4"},
		`--remove cannot be combined with a price`:                    {"openai/gpt-4.1", "--input", "1", "--remove"},
	} {
		_, err := l.Run(cli.ExitUsage, append([]string{"models", "price"}, args...)...)
		clitest.MustContain(t, err, want)
	}
}

func TestShowAModel(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	out, _ := l.Run(cli.ExitOK, "models", "show", "deepseek-v4-pro")
	clitest.Golden(t, "model_hours.txt", out)
	out, _ = l.Run(cli.ExitOK, "models", "show", "gpt-5.6") // gpt-5.6 is an alias
	clitest.Golden(t, "model_promotion.txt", out)
	out, _ = l.Run(cli.ExitOK, "models", "show", "gemma-4-31b-it")
	clitest.MustContain(t, out, "free tier only")
	_, err := l.Run(cli.ExitFailed, "models", "show", "gpt-5.4-minni")
	clitest.MustContain(t, err, `model "gpt-5.4-minni" not found`, "did you mean", "gpt-5.4-mini")
}
