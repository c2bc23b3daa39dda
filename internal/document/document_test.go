package document_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

func TestMaskHidesQuotedValues(t *testing.T) {
	t.Parallel()
	text := "key: \"s\\u0041cret\" # why"
	root, wrong := document.Parse([]byte(text))
	if wrong != nil {
		t.Fatal(wrong)
	}
	lines := []string{text}
	document.SpanOf(root.Content[1]).Mask(lines)
	if want := "key: \"***********\" # why"; lines[0] != want {
		t.Errorf("masked %q, want %q", lines[0], want)
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
