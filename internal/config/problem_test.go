package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the expected texts")

// Each file in testdata/problems contains a configuration and the expected problems.
func TestProblemsAreExplained(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/problems/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := explain(t, archive)
			if *update {
				rewrite(t, file, archive, got)
				return
			}
			if diff := cmp.Diff(section(archive, "report"), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func explain(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	o := Options{
		Path:    filepath.Join(dir, FileName),
		Env:     strings.Fields(section(archive, "env")),
		Flags:   map[string]string{},
		Vendors: []string{"anthropic", "gemini", "groq", "mistral", "openai"},
	}
	for flag := range strings.FieldsSeq(section(archive, "flags")) {
		path, value, _ := strings.Cut(flag, "=")
		o.Flags[path] = value
	}
	if err := os.WriteFile(o.Path, []byte(section(archive, FileName)), 0o600); err != nil {
		t.Fatal(err)
	}
	problems := mustFail(t, o)
	return strings.ReplaceAll(problems.Pretty(), dir+string(filepath.Separator), "")
}

func section(archive *txtar.Archive, name string) string {
	for _, f := range archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func rewrite(t *testing.T, file string, archive *txtar.Archive, report string) {
	t.Helper()
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "report" })
	archive.Files = append(archive.Files, txtar.File{Name: "report", Data: []byte(report)})
	if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A problem never contains a secret, regardless of its position and of other problems.
func TestProblemsHideSecrets(t *testing.T) {
	t.Parallel()
	const secret = "sk-canary-5f1d"
	for name, text := range map[string]string{
		"short master key":              "master_key: " + secret,
		"quoted":                        `master_key: "` + secret + `"`,
		"single-quoted":                 `master_key: '` + secret + `'`,
		"with escapes":                  `master_key: "\x73k-canary-5f1d"` + " # " + "\x20",
		"block":                         "master_key: |\n  " + secret + "\nlistn: x",
		"on the line of another":        "providers: [{name: a, api_keys: [" + secret + "], fromat: chat}]",
		"before another, quoted":        `providers: [{name: a, api_keys: ["` + secret + `", 'b-0123456'], fromat: chat}]`,
		"a string for a list":           "providers: [{name: a, api_keys: " + secret + "}]",
		"under a misspelt name":         "providers: [{name: a, api_key: " + secret + "}]",
		"under a name that is not ours": "openai_token: " + secret,
		"within a section not ours":     "my_secrets: {a: " + secret + "}",
		"a header":                      "providers: [{name: a, headers: {authorization: \"" + secret + "\", \"bad name\": " + secret + "}}]",
		"not YAML":                      "master_key: \"" + secret,
		"not YAML after it":             "master_key: " + secret + "\n  - a",
		"in a URL":                      "providers: [{name: a, base_url: 'https://user:" + secret + "@host/v1'}]",
		"in a bad URL":                  "providers: [{name: a, base_url: 'https://user:" + secret + "@host:port/v1'}]",
		"in the address of the store":   "store: mysql://user:" + secret + "@host/db",
		"in the address of Redis":       "redis: http://user:" + secret + "@host/0",
		"with a line break":             "providers: [{name: a, api_keys: [\"" + secret + "\\nx\"]}]",
		"twice":                         "master_key: " + secret + "\nmaster_key: " + secret,
		"section for a secret":          "master_key: {a: " + secret + "}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems := mustFail(t, Options{Path: write(t, text)})
			for _, report := range []string{problems.Pretty(), problems.Error(), fmt.Sprintf("%+v", problems.List)} {
				if strings.Contains(report, "canary") || strings.Contains(report, "5f1d") {
					t.Errorf("the report contains a secret:\n%s", report)
				}
			}
		})
	}
}

func TestProblemsHideSecretsOfEnvironment(t *testing.T) {
	t.Parallel()
	problems := mustFail(t, Options{Env: []string{"FAIRLEAD_MASTER_KEY=sk-canary", "FAIRLEAD_STORE=mysql://u:sk-canary@h/d", "FAIRLEAD_PROVIDERS=[{name: a, api_keys: sk-canary}]"}})
	if report := problems.Pretty(); strings.Contains(report, "canary") || len(problems.List) != 3 {
		t.Errorf("got %d problems, want 3 without a secret:\n%s", len(problems.List), report)
	}
}

func TestUnreadableFilesAreReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, []byte("# "+strings.Repeat("x", largestFile)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path   string
		code   Code
		report string
	}{
		"a missing file":           {filepath.Join(dir, "no.yaml"), Unreadable, "does not exist"},
		"a directory":              {dir, Unreadable, "cannot be read"},
		"a file of more than 1MiB": {large, TooLarge, "larger than 1MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems := mustFail(t, Options{Path: c.path})
			if len(problems.List) != 1 || problems.List[0].Code != c.code || !strings.Contains(problems.Error(), c.report) {
				t.Errorf("got %v, want %s with %q", problems, c.code, c.report)
			}
		})
	}
}

func TestNumberOfProblemsIsLimited(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "unknown_%d: 1\n", i)
	}
	problems := mustFail(t, Options{Path: write(t, b.String())})
	if len(problems.List) != mostProblems || problems.Omitted != 5000-mostProblems {
		t.Errorf("%d listed, %d omitted", len(problems.List), problems.Omitted)
	}
	if !strings.Contains(problems.Pretty(), "\n5000 problems, the first 50 shown: ") {
		t.Error("the report does not state how many problems are omitted")
	}
}

func TestAliasExpansionIsLimited(t *testing.T) {
	t.Parallel()
	text := "providers:\n  - &p {name: a, models: [&m {name: m, context: 1}" + strings.Repeat(", *m", 2000) + "]}\n" +
		strings.Repeat("  - *p\n", 2000)
	problems := mustFail(t, Options{Path: write(t, text)})
	if !slices.ContainsFunc(problems.List, func(p Problem) bool { return p.Code == TooLarge }) {
		t.Errorf("got %v, want a problem with code TooLarge", problems)
	}
}
