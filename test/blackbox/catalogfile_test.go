package blackbox

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/test/harness"
)

// A signed catalog file replaces prices while the gateway runs. A file that is changed after signing is rejected, and decisions made
// with the earlier catalog are still reproduced.
func TestSignedCatalogFileIsAppliedWhileRunning(t *testing.T) {
	t.Parallel()
	mock, url := harness.Upstream(t)
	mock.SetModels("gpt-4.1")
	dir := t.TempDir()
	path, key := filepath.Join(dir, "catalog.txt"), filepath.Join(dir, "catalog.key")
	run := func(args ...string) string {
		t.Helper()
		out, stderr, code := harness.CLI(t, harness.Options{}, args...)
		if code != 0 {
			t.Fatalf("fairlead %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
		}
		return out
	}
	public := strings.TrimSpace(run("catalog", "keygen", "--out", key))
	publish := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		run("catalog", "sign", path, "--key", key)
	}
	exported := func(at time.Time) string { return run("catalog", "export", "--created", at.UTC().Format(time.RFC3339)) }
	first := exported(time.Now().Add(-time.Minute))
	publish(first)
	g := harness.Start(t, harness.Options{Config: "default_model: gpt-4.1-mini\ncatalog: {file: {source: " + path + ", refresh: 1s, public_keys: [\"" + public + "\"]}}\n" +
		"providers:\n  - {name: house, vendor: openai, base_url: \"" + url + "\", api_keys: [sk-house-0123456789]}\n"})
	k := g.Key(t)
	cost := func() (id, cost string) {
		t.Helper()
		a := g.Call(t, harness.Request{Key: k, Body: chat("gpt-4.1")})
		if a.Status != http.StatusOK {
			t.Fatalf("status %d: %s", a.Status, a.Body)
		}
		return a.Header.Get("x-request-id"), a.Header.Get("x-fairlead-cost")
	}
	id, before := cost()

	const row = "\ngpt-4.1,openai,gpt-4.1,,,,2,8,"
	second := strings.Replace(exported(time.Now()), row, strings.Replace(row, ",2,8,", ",4,16,", 1), 1)
	publish(second)
	harness.Eventually(t, "the price has doubled", func() bool { _, now := cost(); return now != before })
	if !strings.Contains(g.Log(), "catalog file applied") {
		t.Error("the log does not contain \"catalog file applied\"")
	}
	if out, stderr, code := g.CLI(t, "verify", id); code != 0 {
		t.Errorf("verify the earlier decision: exit code %d, want 0: %s%s", code, out, stderr)
	}

	_, doubled := cost()
	if err := os.WriteFile(path, []byte(strings.Replace(second, ",4,16,", ",5,20,", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the changed file is rejected", func() bool { return strings.Contains(g.Log(), "the signature does not match") })
	if _, now := cost(); now != doubled {
		t.Errorf("cost after a rejected file is %s, want %s", now, doubled)
	}
	g.Restart(t)
	if _, now := cost(); now != doubled {
		t.Errorf("cost after a restart is %s, want %s", now, doubled)
	}
}
