package conventions

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/internal/config"
)

func readDocument(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var repositoryPath = regexp.MustCompile("`((?:cmd|internal|web|docs|test|scripts|bench|\\.ci)/[A-Za-z0-9_./*{}-]*)`")

func TestDocumentsNamePathsThatExist(t *testing.T) {
	t.Parallel()
	for _, document := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"} {
		for _, m := range repositoryPath.FindAllStringSubmatch(readDocument(t, document), -1) {
			if strings.ContainsAny(m[1], "*{}") {
				continue // a pattern, not the path of one file
			}
			if _, err := os.Stat(filepath.Join(repository(t), m[1])); err != nil {
				t.Errorf("%s names %s, which does not exist", document, m[1])
			}
		}
	}
}

var (
	documentLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading      = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInAnchor  = regexp.MustCompile(`[^a-z0-9 _-]`)
)

func TestDocumentLinksExist(t *testing.T) {
	t.Parallel()
	root := repository(t)
	var documents []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/guides/*.md", "docs/reference/*.md", "deploy/*.md", "train/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, found...)
	}
	for _, document := range documents {
		name, err := filepath.Rel(root, document)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range documentLink.FindAllStringSubmatch(readDocument(t, name), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "/") { // the gateway serves this page; see package manual
				continue
			}
			path := filepath.Join(filepath.Dir(name), target)
			if target == "" {
				path = name
			}
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
			} else if anchor != "" && !slices.Contains(anchors(readDocument(t, path)), anchor) {
				t.Errorf("%s links to %s, which has no such heading", name, m[1])
			}
		}
	}
}

// anchors returns the headings of a document and the anchors GitHub generates for them. The anchor of an error-code section is
// the code itself.
func anchors(text string) []string {
	var list []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1], strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return list
}

var (
	yamlExample = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
	nameInYAML  = regexp.MustCompile(`\$\{([A-Z_]+)\}`)
	fileInYAML  = regexp.MustCompile(`file:/[\w./-]+`)
)

func TestConfigurationExamplesAreValid(t *testing.T) {
	t.Parallel()
	for _, document := range []string{"docs/guides/operation.md", "docs/guides/providers.md", "docs/guides/reverse-proxy.md", "docs/guides/migrating-from-litellm.md", "docs/guides/telemetry.md", "docs/guides/deploy.md"} {
		examples := yamlExample.FindAllStringSubmatch(readDocument(t, document), -1)
		if len(examples) == 0 {
			t.Errorf("%s has no example", document)
		}
		for _, m := range examples {
			dir := t.TempDir()
			secret, file := filepath.Join(dir, "secret"), filepath.Join(dir, config.FileName)
			text := fileInYAML.ReplaceAllString(m[1], "file:"+secret)
			for name, content := range map[string]string{secret: strings.Repeat("0123456789abcdef", 4), file: text} {
				if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var env []string
			for _, name := range nameInYAML.FindAllStringSubmatch(text, -1) {
				env = append(env, name[1]+"=0123456789abcdef")
			}
			if _, err := config.Load(config.Options{Path: file, Env: env}); err != nil {
				t.Errorf("an example in %s is invalid: %v\n%s", document, err, text)
			}
		}
	}
}

func TestArchitectureHasNoLineNumbers(t *testing.T) {
	t.Parallel()
	if m := regexp.MustCompile(`\.go:\d+`).FindString(readDocument(t, "ARCHITECTURE.md")); m != "" {
		t.Errorf("ARCHITECTURE.md contains the line number %s: use names only", m)
	}
}

func TestChangelogHasAnUnreleasedSection(t *testing.T) {
	t.Parallel()
	if !strings.Contains(readDocument(t, "CHANGELOG.md"), "\n## Unreleased\n") {
		t.Error("CHANGELOG.md has no section \"## Unreleased\"")
	}
}

func TestContributingNamesTheTargets(t *testing.T) {
	t.Parallel()
	makefile, text := readDocument(t, "Makefile"), readDocument(t, "CONTRIBUTING.md")
	for _, target := range []string{"help", "run", "build", "test", "check", "quick", "bench", "faults", "soak", "generate"} {
		if !regexp.MustCompile(`(?m)^` + target + `:.*## `).MatchString(makefile) {
			t.Errorf("the Makefile has no documented target %s", target)
		}
		if !strings.Contains(text, "make "+target) {
			t.Errorf("CONTRIBUTING.md does not describe make %s", target)
		}
	}
}

var decisionName = regexp.MustCompile(`^(\d{4})-[a-z0-9-]+\.md$`)

// decisionParts are the required sections of a decision page, each with its current and its former name.
var decisionParts = [][]string{{"\n## Context\n", "\n## Situation\n"}, {"\n## Decision\n", "\n## Choice\n"}, {"\n## Consequences\n", "\n## Price\n"}}

// Decision pages are numbered without gaps. Each has a context, a decision and consequences.
func TestDecisionsAreNumbered(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(filepath.Join(repository(t), "docs", "decisions"))
	if err != nil {
		t.Fatal(err)
	}
	for i, entry := range entries {
		m := decisionName.FindStringSubmatch(entry.Name())
		if m == nil {
			t.Errorf("%s is not named NNNN-title.md", entry.Name())
			continue
		}
		if want := fmt.Sprintf("%04d", i+1); m[1] != want {
			t.Errorf("%s should have the number %s", entry.Name(), want)
		}
		text := readDocument(t, filepath.Join("docs", "decisions", entry.Name()))
		if !strings.HasPrefix(text, "# ") {
			t.Errorf("%s has no title", entry.Name())
		}
		for _, names := range decisionParts {
			if !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(text, name) }) {
				t.Errorf("%s lacks %q", entry.Name(), strings.TrimSpace(names[0]))
			}
		}
	}
	if len(entries) == 0 {
		t.Error("there are no decisions")
	}
}
