package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/config"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	answers := map[string]func(http.ResponseWriter){
		"/ready/readyz": func(w http.ResponseWriter) {
			_, _ = w.Write([]byte(`{"status":"ready","checks":[{"name":"keys","ok":true,"note":""}]}`))
		},
		"/not/readyz": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"status":"not ready","checks":[{"name":"keys","ok":false,"note":"the database\u001b[2J is away"},{"name":"spool","ok":true},{"name":"x","ok":false}]}`))
		},
		"/other/readyz": func(w http.ResponseWriter) { _, _ = w.Write([]byte("<html>")) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		answer(w)
	}))
	t.Cleanup(server.Close)
	l := newLab(t)

	if out, err := l.Run(cli.ExitOK, "health", "--url", server.URL+"/ready/"); out != "ready\n" || err != "" {
		t.Errorf("ready: %q %q", out, err)
	}
	if out, err := l.Run(cli.ExitFailed, "health", "--url", server.URL+"/not"); out != "not ready – keys: the database [2J is away, x\n" || err != "" {
		t.Errorf("not ready: %q %q", out, err)
	}
	out, _ := l.Run(cli.ExitFailed, "health", "--json", "--url", server.URL+"/not")
	if clitest.Lines(t, out)[0]["status"] != "not ready" {
		t.Errorf("JSON: got %s, want status not ready", out)
	}
	_, err := l.Run(cli.ExitFailed, "health", "--url", server.URL+"/other")
	clitest.MustContain(t, err, "is not a Fairlead server")

	l.Console.Env = append(l.Console.Env, "FAIRLEAD_LISTEN="+strings.TrimPrefix(server.URL, "http://"))
	_, err = l.Run(cli.ExitFailed, "health")
	clitest.MustContain(t, err, server.URL+" returned status 404")
	l.Console.Env = append(l.Console.Env, "FAIRLEAD_LOG_LEVEL=loud")
	_, err = l.Run(cli.ExitFailed, "health")
	clitest.MustContain(t, err, "warning: the configuration has problems", server.URL+" returned status 404")
	server.Close()
	_, err = l.Run(cli.ExitFailed, "health")
	clitest.MustContain(t, err, "error: no server at "+server.URL, "refused", "fix: start it with  fairlead serve")
}

func TestAddressesToOpen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config config.Config
		want   string
	}{
		{config.Config{Listen: "127.0.0.1:8080"}, "http://127.0.0.1:8080"},
		{config.Config{Listen: ":9000"}, "http://127.0.0.1:9000"},
		{config.Config{Listen: "0.0.0.0:9000"}, "http://127.0.0.1:9000"},
		{config.Config{Listen: "[::]:9000"}, "http://127.0.0.1:9000"},
		{config.Config{Listen: "[::1]:9000", TLS: config.TLS{Cert: "c.pem"}}, "https://[::1]:9000"},
		{config.Config{Listen: ":9000", PublicURL: "https://models.example.com/"}, "https://models.example.com"},
	} {
		if got := instance.BaseURL(c.config); got != c.want {
			t.Errorf("%+v: %s, want %s", c.config.Listen, got, c.want)
		}
	}
}
