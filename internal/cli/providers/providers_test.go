package providers

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

func TestListProviders(t *testing.T) {
	t.Parallel()
	l := newLab(t).WithProviders()
	out, _ := l.Run(cli.ExitOK, "providers", "list")
	rows := clitest.Squeeze(out)
	for i, want := range []string{
		`^PROVIDER  SOURCE  BASE URL  CREDENTIALS  MODELS  STATE$`,
		`^good  file  http://127\.0\.0\.1:\d+/v1  file …cdef  2  on$`,
		`^bad  file  http://127\.0\.0\.1:\d+/v1  file …9999  2  on$`,
		`^resting  file  http://127\.0\.0\.1:\d+/v1  none  0  off$`,
	} {
		if i >= len(rows) || !regexp.MustCompile(want).MatchString(rows[i]) {
			t.Errorf("row %d does not match %s:\n%s", i, want, out)
		}
	}
	out, _ = l.Run(cli.ExitOK, "providers", "list", "--json")
	if strings.Contains(out, "sk-0123456789abcdef") || len(clitest.Lines(t, out)) != 3 {
		t.Errorf("JSON: %s", out)
	}
}

func TestProvidersOfTheEnvironment(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	out, _ := l.Run(cli.ExitOK, "providers", "list", "--json")
	if rows := clitest.Lines(t, out); len(rows) != 1 || rows[0]["simulated"] != true {
		t.Errorf("without any: %s", out)
	}
	l.Console.Env = append(l.Console.Env, "FAIRLEAD_DETECT=true", "MISTRAL_API_KEY=abcdefghijklmnopf3Qa")
	out, _ = l.Run(cli.ExitOK, "providers", "list")
	clitest.MustContain(t, out, "mistral", "env", "MISTRAL_API_KEY …f3Qa")
	if strings.Contains(out, "abcdefgh") {
		t.Errorf("a secret is shown: %s", out)
	}
}

func TestTestProviders(t *testing.T) {
	t.Parallel()
	l := newLab(t).WithProviders()
	out, err := l.Run(cli.ExitProblems, "providers", "test")
	rows := clitest.Squeeze(out)
	for i, want := range []string{`^PROVIDER  RESULT  LATENCY  MODELS  ERROR$`, `^good  ok  .*s  2$`, `^bad  failed  .*s  —  401: .*$`} {
		if i >= len(rows) || !regexp.MustCompile(want).MatchString(rows[i]) {
			t.Errorf("row %d does not match %s:\n%s", i, want, out)
		}
	}
	clitest.MustContain(t, err, "1 of 2 providers failed")
	if strings.Contains(out+err, "sk-9999999999999999") {
		t.Error("the secret is shown")
	}
	out, _ = l.Run(cli.ExitOK, "providers", "test", "good", "--json")
	if diff := cmp.Diff([]any{"one", "two"}, clitest.Lines(t, out)[0]["models"]); diff != "" {
		t.Error(diff)
	}
	_, err = l.Run(cli.ExitFailed, "providers", "test", "god")
	clitest.MustContain(t, err, `provider "god" not found`, `did you mean "good"?`)
	_, err = l.Run(cli.ExitFailed, "providers", "test", "resting")
	clitest.MustContain(t, err, `provider "resting" is disabled`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.RunContext(ctx, cli.ExitInterrupted, "providers", "test")
}

func TestAddSetKeyAndRemove(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-0123456789abcdef" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"gpt-6-luna"},{"id":"unknown-model"}]}`))
	}))
	defer upstream.Close()
	l.Configure("providers: [{name: filed, base_url: \"https://filed.example/v1\"}]\n")
	run := func(input string, want int, args ...string) (string, string) {
		t.Helper()
		l.Console.In = strings.NewReader(input)
		return l.Run(want, append([]string{"providers"}, args...)...)
	}
	add := []string{"add", "openai", "--base-url", upstream.URL + "/v1"}

	_, err := run("sk-0123456789abcdef\n", cli.ExitFailed, add...)
	clitest.MustContain(t, err, "loopback", "--allow-loopback")
	add = append(add, "--allow-loopback")
	_, err = run("sk-9999999999999999\n", cli.ExitFailed, add...)
	clitest.MustContain(t, err, "rejected the key", "fix: check the key")
	_, err = run("sk-0123456789abcdef\n", cli.ExitOK, add...)
	clitest.MustContain(t, err, "connected openai: 2 models found, 1 with a price", "Which model do you use today? Usual ones are gpt-6-luna.")
	run("", cli.ExitOK, "baseline", "gpt-6-luna")
	_, err = run("", cli.ExitOK, "baseline")
	clitest.MustContain(t, err, "Savings are measured against gpt-6-luna.")
	out, _ := run("", cli.ExitOK, "list", "--json")
	if rows := clitest.Lines(t, out); rows[1]["name"] != "openai" || rows[1]["managed_by"] != "dashboard" || rows[0]["managed_by"] != "file" {
		t.Errorf("%s", out)
	} else if diff := cmp.Diff([]any{"gpt-6-luna"}, rows[1]["models"]); diff != "" { // the account does not list the other models of the catalog
		t.Error(diff)
	}
	_, err = run("sk-new-0123456789wxyz", cli.ExitOK, "set-key", "openai")
	clitest.MustContain(t, err, "stored the key …wxyz of openai")
	out, _ = run("", cli.ExitOK, "list")
	clitest.MustContain(t, out, "dashboard …wxyz")
	if strings.Contains(out+err, "sk-new") || strings.Contains(out, "…cdef") {
		t.Errorf("%s%s", out, err)
	}
	_, err = run("", cli.ExitFailed, "remove", "filed", "--yes")
	clitest.MustContain(t, err, "managed in the configuration file")
	_, err = run("", cli.ExitFailed, "remove", "opena", "--yes")
	clitest.MustContain(t, err, `provider "opena" not found`, `did you mean "openai"?`)
	_, err = run("", cli.ExitOK, "remove", "openai", "--yes")
	clitest.MustContain(t, err, "removed openai")
	if out, _ = run("", cli.ExitOK, "list"); strings.Contains(out, "openai") {
		t.Errorf("still listed: %s", out)
	}
	_, err = run("", cli.ExitFailed, "add", "openia")
	clitest.MustContain(t, err, `Did you mean "openai"?`)
}
