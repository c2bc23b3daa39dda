package document_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"fairlead.dev/internal/document"
)

func TestParseReportsSyntaxErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want *document.SyntaxError
	}{
		"empty":         {"# only a comment\n", nil},
		"one document":  {"a: 1\n", nil},
		"two documents": {"a: 1\n---\nb: 2\n", &document.SyntaxError{Line: 2, Column: 1, Message: "more than one document", Multiple: true}},
		"not YAML":      {"a: 1\nb: [\n", &document.SyntaxError{Line: 2, Message: "did not find expected node content"}},
	} {
		if _, got := document.Parse([]byte(c.text)); !cmp.Equal(c.want, got) {
			t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(c.want, got))
		}
	}
}

func TestExcerptMarksColumn(t *testing.T) {
	t.Parallel()
	line, column := document.Window("name: "+strings.Repeat("x", 200)+"y", 207)
	if len(line) != 120 || line[column-1] != 'y' {
		t.Errorf("column %d of %d characters is %q, want y", column, len(line), line[column-1])
	}
	want := "   7 | pin: gpt\n     |      ^^^ did you mean \"gpt-5\"?\n"
	if diff := cmp.Diff(want, document.Excerpt(7, "pin: gpt  ", 6, 3, document.DidYouMean("gpt-5"))); diff != "" {
		t.Errorf("excerpt (-want +got):\n%s", diff)
	}
	if got := document.Excerpt(7, "pin: gpt", 0, 0, "hint"); got != "   7 | pin: gpt\n" {
		t.Errorf("without a column: %q", got)
	}
}

func TestSectionKeepsPositions(t *testing.T) {
	t.Parallel()
	text := "secret: abc\nlist:\n  - one\n# next\nother: 1\n"
	root, wrong := document.Parse([]byte(text))
	if wrong != nil {
		t.Fatal(wrong)
	}
	got, ok := document.Section(text, root, document.Key(root, "list"))
	if want := "\nlist:\n  - one\n"; !ok || got != want {
		t.Errorf("section %q, %v, want %q", got, ok, want)
	}
}

func TestMaskHidesValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"key: secret # why":                         "key: ****** # why",
		"key: !!str secret":                         "key: !!str ******",
		"key: &name secret":                         "key: &name ******",
		"key: !!str &name 'it''s'":                  "key: !!str &name '*****'",
		`key: "s\u0041cret" # why`:                  `key: "***********" # why`,
		`key: "\U0001F600\U0001F600" # why`:         `key: "********************" # why`,
		"key: \"one \\\n  two\" # why":              "key: \"*****\n  ***\" # why",
		"key: one\n  two\nnext: 1":                  "key: ***\n  ***\nnext: 1",
		"key: !!str |\n  one two\n  three\nnext: 1": "key: !!str |\n  *** ***\n  *****\nnext: 1",
		"key: >-\n  one\n\n  two\nnext: 1":          "key: >-\n  ***\n\n  ***\nnext: 1",
		"{key: secret, next: 1}":                    "{key: ******, next: 1}",
		"key: 秘密 # why":                             "key: ** # why",
	} {
		root, wrong := document.Parse([]byte(text))
		if wrong != nil {
			t.Fatal(wrong)
		}
		lines := strings.Split(text, "\n")
		document.Mask(lines, []*yaml.Node{root.Content[1]})
		if diff := cmp.Diff(want, strings.Join(lines, "\n")); diff != "" {
			t.Errorf("masked (-want +got):\n%s", diff)
		}
	}
}

func TestInlineQuotesOnlyWhereNeeded(t *testing.T) {
	t.Parallel()
	root, wrong := document.Parse([]byte("a: [one, 'true', 2]\nb: {c: 'x y'}\n"))
	if wrong != nil {
		t.Fatal(wrong)
	}
	if got, want := document.Inline(root), `{a: [one, "true", 2], b: {c: "x y"}}`; got != want {
		t.Errorf("inline %s, want %s", got, want)
	}
}
