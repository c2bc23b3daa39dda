package conventions

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// banned lists words and phrases to avoid: archaic words, pronouns for something that can be named, clauses used as nouns, and
// human verbs for machines. Matching ignores case.
var banned = []string{
	`anew`, `besides`, `whoever`, `of late`, `mend(s|ed|ing)?`, `dear(er|est)`, `nobody`, `somebody`, `in force`, `reckon(s|ed|ing)?`,
	`in earnest`, `at once`, `yardsticks?`, `fellows?`, `purses?`, `bidden`, `sooner or later`, `outrun`, `outruns`,
	`(is|are|was|were|be) no [a-z]+`,
	`what (is|was|are|were|has|had|it|they|cannot)`, `who (may|has|is|was)`,
	`(is|was|are|were|be) told`, `tells`, `told`, `hears?`, `heard`, `blames?`, `lends?`, `lent`, `rests`, `resting`, `hush`,
	`of its own accord`, `to be had`, `makes sense of`, `has trouble`, `doubtful`, `stepped over`, `such a thing`, `no such thing`,
	`(most|some|part|rest|nothing) of it`, `of it[.;:,]`, `of then`, `thereby`, `therein`, `as it were`, `for its part`, `in vain`,
	`without a word`, `comes to nothing`, `left out`, `save for`, `lest`, `wherefrom`, `whereupon`,
}

// pending lists folders that are not checked yet. A folder without findings must be removed from the list.
var pending = []string{}

// scanned lists the folders and files whose text is checked.
var scanned = []string{
	"cmd", "internal", "bench", "test", "train", "scripts", "deploy", "docs", "web/src", "web/embed.go",
	"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "Makefile",
}

func TestLanguageIsPlain(t *testing.T) {
	t.Parallel()
	root := repository(t)
	pattern := regexp.MustCompile(`(?i)\b(` + strings.Join(banned, "|") + `)(\b|$)`)
	unfinished := map[string]bool{}
	address := regexp.MustCompile("https?://\\S+|`[^`]*`")
	check := func(path string, line int, text string) {
		text = address.ReplaceAllString(text, "")
		for _, at := range pattern.FindAllStringIndex(text, -1) {
			found := text[at[0]:at[1]]
			if before := strings.ToLower(text[:at[0]]); strings.HasSuffix(before, "there ") && strings.Contains(strings.ToLower(found), " no ") {
				continue // "there is no route" is plain
			}
			if strings.HasSuffix(strings.ToLower(found), " no longer") {
				continue
			}
			if strings.HasPrefix(strings.ToLower(found), "what ") && strings.Contains(text[at[1]:], "?") {
				continue // the phrase is part of a question, as in a prompt
			}
			if folder := filepath.Dir(path); slices.Contains(pending, folder) {
				unfinished[folder] = true
				continue
			}
			t.Errorf("%s:%d: %q in %q", path, line, found, excerpt(text, at[0]))
		}
	}
	for _, name := range scanned {
		err := filepath.WalkDir(filepath.Join(root, name), func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				if slices.Contains([]string{"node_modules", "testdata", "dist", "images"}, d.Name()) {
					return fs.SkipDir
				}
				return nil
			}
			path, err := filepath.Rel(root, file)
			if err != nil {
				return err
			}
			body, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			switch {
			case filepath.Ext(file) == ".go":
				return goTexts(path, body, check)
			case slices.Contains([]string{".ts", ".tsx", ".css", ".md", ".sh", ".py", ".yaml", ".yml", ".sql", ".mjs", ".json"}, filepath.Ext(file)), d.Name() == "Makefile":
				lines := bufio.NewScanner(bytes.NewReader(body))
				lines.Buffer(nil, 1<<24)
				for n := 1; lines.Scan(); n++ {
					check(path, n, lines.Text())
				}
				return lines.Err()
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range pending {
		if !unfinished[folder] {
			t.Errorf("%s has no findings: remove it from pending", folder)
		}
	}
}

// goTexts calls check for every comment in a Go file and, except in tests, for every string. Strings in tests quote clients and
// models.
func goTexts(path string, body []byte, check func(path string, line int, text string)) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, body, parser.ParseComments)
	if err != nil {
		return fmt.Errorf("parse %s: %w", path, err)
	}
	for _, group := range file.Comments {
		check(path, set.Position(group.Pos()).Line, strings.Join(strings.Fields(group.Text()), " "))
	}
	if strings.HasSuffix(path, "_test.go") {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING {
			check(path, set.Position(s.Pos()).Line, s.Value)
		}
		return true
	})
	return nil
}

// excerpt returns the text around a position.
func excerpt(text string, at int) string {
	return strings.TrimSpace(text[max(0, at-50):min(len(text), at+70)])
}
