package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"fairlead.dev/internal/document"
)

// FuzzLoad checks that loading any file returns either a printable configuration or printable problems.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(designExample))
	f.Add([]byte(printExample))
	files, err := filepath.Glob("testdata/problems/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(section(archive, FileName)))
	}
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("policies: &a [*a]"))
	f.Add([]byte(policiesExample))
	f.Add([]byte(`{"listen": ":1", "policies": [{"name": "a", "deny": "x"}], "rescue": "off"}`))
	f.Add([]byte("policies:\n? [a, b]\n: c\n"))
	f.Add([]byte("policies:\n- !!binary aGk=\n- {? {a: b} : [1, ~, -.5, \"x\\x00\"]}\n"))
	f.Add([]byte("providers: &p\n  - {name: x, models: *p}"))
	f.Add([]byte("\xff\xfel\x00:\x00 \x001\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := newLoader(Options{Env: []string{"HOME=/h", "A=b"}})
		l.path = FileName
		l.readFile = func(string, int64) ([]byte, error) { return nil, os.ErrNotExist }
		l.file(text)
		l.finishPaths()
		l.check(Options{Vendors: []string{"openai"}})
		if len(l.problems.List) == 0 {
			printsWell(t, &Loaded{Config: l.config, Origins: l.origins, Path: FileName})
			return
		}
		l.addExcerpts()
		l.problems.sort()
		readsWell(t, &l.problems)
	})
}

func printsWell(t *testing.T, loaded *Loaded) {
	t.Helper()
	var b strings.Builder
	if err := loaded.Print(&b, true); err != nil {
		t.Fatal(err)
	}
	if _, wrong, _ := parse([]byte(b.String())); wrong != nil {
		t.Fatalf("the printed configuration is not YAML: %s\n%s", wrong.message, b.String())
	}
	if _, wrong, _ := parse([]byte(loaded.Config.Policies)); wrong != nil {
		t.Fatalf("the policies are not YAML: %s\n%s", wrong.message, loaded.Config.Policies)
	}
}

func readsWell(t *testing.T, problems *Problems) {
	t.Helper()
	for _, p := range problems.List {
		if p.Message == "" || p.Fix == "" || p.Code == "" || p.Line < 0 || p.Column < 0 {
			t.Fatalf("an incomplete problem: %+v", p)
		}
	}
	for _, r := range problems.Pretty() {
		if r != '\n' && document.Clean(string(r)) != string(r) {
			t.Fatalf("control character %q in the report", r)
		}
	}
	if strings.Contains(problems.Error(), "\n") {
		t.Fatal("Error() has several lines")
	}
}
