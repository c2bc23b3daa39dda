package hostile

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/store/pgtest"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// Searching is fault case F56: search terms are matched literally and within a time limit, with either database.
func Searching(t *testing.T, size scenario.Size) string {
	slowest, n := time.Duration(0), 0
	for _, store := range []string{"", "store: " + pgtest.Start(t)} {
		g, _ := scenario.Single(t, store)
		took, asked := searchIn(t, g, size)
		slowest, n = max(slowest, took), n+asked
	}
	if slowest > size.Limit(time.Second) {
		t.Errorf("the slowest search took %s, want at most %s", slowest, size.Limit(time.Second))
	}
	return fmt.Sprintf("%d searches in SQLite and PostgreSQL literal, the slowest %s", n, slowest.Round(time.Millisecond))
}

func searchIn(t *testing.T, g *harness.Gateway, size scenario.Size) (slowest time.Duration, asked int) {
	t.Helper()
	k, reader := g.Key(t), g.Key(t, "--scopes", "read")
	odd := []string{
		"100%", "a_b", `back\slash`, "it's", `dou"ble`, "semi;colon", "--comment", "/*c*/", "$1", "%s", "[a-z]", "(paren", "a*b", "^start", "?mark", "x' or '1'='1", "'; drop table entries; --",
		`\%`, "né", "日本", "a||b",
	}
	for i, text := range odd {
		body := strings.Replace(scenario.Chat("m", `"session_id":`+scenario.Quote(fmt.Sprintf("s%d-%s", i, text))), `"Hello"`, scenario.Quote("say "+text+" now"), 1)
		if a := g.Call(t, harness.Request{Key: k, Body: body}); a.Status != http.StatusOK {
			t.Fatalf("request with the text %q: status %d, want 200: %s", text, a.Status, scenario.Clip(a.Body))
		}
	}
	scenario.Together(16, size.Of(150, 5000), func(i int) {
		g.Call(t, harness.Request{Key: k, Body: strings.Replace(scenario.Chat("m"), "Hello", fmt.Sprintf("say 100 a-b backslash its start %d", i), 1)})
	})
	scenario.Settled(t, g, reader)
	find := func(query string) []harness.Entry {
		asked++
		began := time.Now()
		entries := g.Entries(t, query, -1)
		slowest = max(slowest, time.Since(began))
		return entries
	}
	for i, text := range odd {
		found := find("q=" + url.QueryEscape(text))
		for _, e := range found {
			if !strings.Contains(e.Preview, text) && !strings.Contains(e.ID, text) {
				t.Errorf("the search for %q found %q, which does not contain it", text, e.Preview)
			}
		}
		if len(found) == 0 || len(found) > 2 { // the entry itself, and possibly a longer one that contains the text
			t.Errorf("the search for %q found %d entries, want 1 or 2", text, len(found))
		}
		session := fmt.Sprintf("s%d-%s", i, text)
		if got := find("session=" + url.QueryEscape(strings.ReplaceAll(session, `\`, `\\`))); len(got) != 1 || got[0].Session != session {
			t.Errorf("the session %q has %d requests, want 1", session, len(got))
		}
	}
	for _, text := range []string{"%", "_", "%%%%%%%%%%%%%%%%%%%%%%%%%%%", "*", "' or 1=1 --", "%' or '%'='", `\`, strings.Repeat("%a", 90)} {
		for _, e := range find("q=" + url.QueryEscape(text)) {
			if !strings.Contains(e.Preview, text) && !strings.Contains(e.ID, text) {
				t.Errorf("the search for %q found %q, which does not contain it", text, e.Preview)
			}
		}
		if got := find("session=" + url.QueryEscape(text)); len(got) != 0 {
			t.Errorf("the session %q has %d requests, want 0", text, len(got))
		}
	}
	return slowest, asked
}
