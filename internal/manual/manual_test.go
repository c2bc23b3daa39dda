package manual_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/docs"
	"fairlead.dev/internal/manual"
)

func get(t *testing.T, site http.Handler, target string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
	return w
}

func ours() *manual.Site { return manual.New(docs.Files, openAPI, http.NotFoundHandler()) }

func openAPI() ([]byte, error) { return os.ReadFile(docsDir + "openapi.json") }

// addresses returns the address of every page of the documentation.
func addresses(t *testing.T) []string {
	t.Helper()
	list := []string{"/docs", "/docs/reference/admin-api", "/docs/search", "/docs/search?q=budget", "/docs/no-such-page"}
	err := fs.WalkDir(docs.Files, ".", func(file string, _ fs.DirEntry, err error) error {
		if name, ok := strings.CutSuffix(file, ".md"); ok && name != "index" {
			list = append(list, "/docs/"+name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var fragment = regexp.MustCompile(` id="([^"]*)"`)

func TestPagesAreSafeAndComplete(t *testing.T) {
	t.Parallel()
	site := ours()
	inline := regexp.MustCompile(`<script|<style| style="| on[a-z]+="`)
	for _, page := range addresses(t) {
		w := get(t, site, page)
		text := w.Body.String()
		if w.Code != http.StatusOK && page != "/docs/no-such-page" {
			t.Errorf("%s: status %d", page, w.Code)
		}
		if m := inline.FindString(text); m != "" {
			t.Errorf("%s contains %q, which the content security policy forbids", page, m)
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "script-src") {
			t.Errorf("%s has the content security policy %q", page, csp)
		}
		if n := strings.Count(text, "<h1"); n != 1 {
			t.Errorf("%s has %d h1 headings, want 1", page, n)
		}
		for _, part := range []string{`<html lang="en">`, `<main id="content">`, `<nav id="pages"`, `role="search"`, "Claude Code"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s does not contain %s", page, part)
			}
		}
		seen := map[string]bool{}
		for _, m := range fragment.FindAllStringSubmatch(text, -1) {
			if seen[m[1]] {
				t.Errorf("%s has the id %s twice", page, m[1])
			}
			seen[m[1]] = true
		}
	}
}

func TestEveryPageIsAlsoMarkdown(t *testing.T) {
	t.Parallel()
	site := ours()
	list := get(t, site, "/llms.txt").Body.String()
	if !strings.HasPrefix(list, "# Fairlead documentation\n\n> Fairlead is") || !strings.Contains(list, "\n- [Error codes](/docs/errors.md): meaning") {
		t.Errorf("llms.txt is\n%s", list)
	}
	links := regexp.MustCompile(`\]\((/docs[^)#]*)`)
	for _, page := range addresses(t) {
		if strings.Contains(page, "search") || strings.Contains(page, "no-such") {
			continue
		}
		address := page + ".md"
		if page == "/docs" {
			address = "/docs/index.md"
		}
		w := get(t, site, address)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), "# ") || w.Header().Get("Content-Type") != "text/markdown; charset=utf-8" {
			t.Errorf("%s: status %d, %s", address, w.Code, w.Header())
		}
		list += w.Body.String()
	}
	for _, m := range links.FindAllStringSubmatch(list, -1) {
		if w := get(t, site, m[1]); w.Code != http.StatusOK {
			t.Errorf("llms.txt links to %s, which has status %d", m[1], w.Code)
		}
	}
}

func TestUnknownPageHasNavigation(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"/docs/no-such-page", "/docs/guides", "/docs/../go.mod", "/docs/embed.go", "/docs/images/none.svg", "/docs/.svg"} {
		w := get(t, ours(), address)
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "Page not found") || !strings.Contains(w.Body.String(), `href="/docs/guides/agents"`) {
			t.Errorf("%s: status %d\n%.300s", address, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	ours().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/docs", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("POST: status %d, want 404", w.Code)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	site := ours()
	for query, want := range map[string]string{
		"claude+code":             `<li><a href="/docs/guides/agents#claude-code">`,
		"BUDGET_EXCEEDED":         `<li><a href="/docs/errors#BUDGET_EXCEEDED">`,
		"budget_exceeded":         `<li><a href="/docs/errors#BUDGET_EXCEEDED">`,
		"nginx":                   `<li><a href="/docs/guides/reverse-proxy#nginx">`,
		"first_token":             "<mark>first_token</mark>",
		"":                        "Enter a word",
		"zyzzyva":                 "No results for <strong>zyzzyva</strong>",
		"<script>":                "No results for <strong>&lt;script&gt;</strong>",
		"%ff%fe":                  "Enter a word",
		strings.Repeat("a+", 500): "Results for",
	} {
		w := get(t, site, "/docs/search?q="+query)
		text := w.Body.String()
		first, _, _ := strings.Cut(text, "</li>\n<li><a href=\"/docs/guides/x")
		if i := strings.Index(text, `<ol class="results">`); i >= 0 && strings.HasPrefix(want, "<li>") {
			first, _, _ = strings.Cut(text[i:], "</li>")
		}
		if w.Code != http.StatusOK || !strings.Contains(first, want) {
			t.Errorf("%q: status %d, the first result does not contain %q:\n%.600s", query, w.Code, want, first)
		}
		if n := strings.Count(text, `<li><a href="/docs/`); n > 70 {
			t.Errorf("%q: %d results, want at most 70", query, n)
		}
	}
}

// A site has one page per file in its folder. Links to other files of the repository become text.
func TestLinksOutsideTheFolderBecomeText(t *testing.T) {
	t.Parallel()
	site := manual.New(fstest.MapFS{
		"index.md":      {Data: []byte("# Home\n\nText.\n\n## Start\n\n- [Guide](guides/a.md): a guide\n")},
		"guides/a.md":   {Data: []byte("# A `code` title\n\n[here](#one), [home](../index.md), [out](../../go.mod), [web](https://example.com), <b>raw</b>\n\n## One\n\n## One\n\n![i](../images/i.svg)\n\n## RATE_LIMITED\n\n[API](../openapi.json)\n")},
		"guides/b.md":   {Data: []byte("# Unlisted\n\nA page.\n")},
		"guides/t.md":   {Data: []byte("# Tabs\n\n## One\n\n<!-- tabs -->\n\n### Go\n\nA\n\n### C\n\nB\n\n## Two\n\n### Not a tab\n\n## Three\n\n<!-- tabs -->\n\n### D\n\nE\n")},
		"images/i.svg":  {Data: []byte("<svg/>")},
		"images/p.png":  {Data: []byte("x")},
		"images/i.html": {Data: []byte("x")},
	}, openAPI, http.NotFoundHandler())
	text := get(t, site, "/docs/guides/a").Body.String()
	for _, want := range []string{
		`<title>A code title`, `<a href="#one">here</a>`, `<a href="/docs">home</a>`, `, out, <a href="https://example.com">web</a>`,
		`id="one"`, `id="one-1"`, `id="RATE_LIMITED"`, `<a href="/docs/reference/admin-api">API</a>`, `src="/docs/images/i.svg"`,
		`<h2>More</h2>`, `<a href="/docs/guides/b">Unlisted</a>`, `<a href="/docs/guides/a" aria-current="page">Guide</a>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not contain %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, "<b>") {
		t.Error("raw HTML is not escaped")
	}
	_, tabs, _ := strings.Cut(get(t, site, "/docs/guides/t").Body.String(), "<h2 id=\"one\">One</h2>\n")
	tabs, _, _ = strings.Cut(tabs, "\n</article>")
	if diff := cmp.Diff(`<div class="tabs">
<details name="tabs-1" open><summary><h3>Go</h3>
</summary>
<span id="go"></span>
<p>A</p>
</details>

<details name="tabs-1"><summary><h3>C</h3>
</summary>
<span id="c"></span>
<p>B</p>
</details>
</div>
<h2 id="two">Two</h2>
<h3 id="not-a-tab">Not a tab</h3>
<h2 id="three">Three</h2>
<div class="tabs">
<details name="tabs-2" open><summary><h3>D</h3>
</summary>
<span id="d"></span>
<p>E</p>
</details>
</div>
`, tabs); diff != "" {
		t.Error(diff)
	}
	if w := get(t, site, "/docs/images/i.svg"); w.Header().Get("Content-Type") != "image/svg+xml" {
		t.Errorf("the image has the type %q", w.Header().Get("Content-Type"))
	}
	if w := get(t, site, "/docs/images/p.png"); w.Header().Get("Content-Type") != "image/png" {
		t.Errorf("the screenshot has the type %q", w.Header().Get("Content-Type"))
	}
	if w := get(t, site, "/docs/images/i.html"); w.Code != http.StatusNotFound {
		t.Errorf("status of an HTML file in the folder = %d, want 404", w.Code)
	}
	if got, want := get(t, site, "/docs/guides/a.md").Body.String(), "[home](/docs.md)"; strings.Contains(got, want) {
		t.Errorf("the Markdown has a broken link to the home page: %s", got)
	}
}
