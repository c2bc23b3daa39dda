package blackbox

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/harness"
)

const (
	promptCanary = "canaryprompt7Qx2pW9zLm"
	answerCanary = "canaryanswer4Rt8vB1nKs"
)

// loud sends requests whose text could leak in different ways: complete and streamed responses, rejections that quote the
// prompt, interrupted streams.
func loud(t *testing.T, g *harness.Gateway, mock *simulator.Mock, k string, header http.Header) {
	t.Helper()
	body := func(more ...string) string {
		return strings.Replace(chat(small, more...), "Hello", promptCanary, 1)
	}
	mock.Always(simulator.Behaviour{Text: []string{answerCanary, " and ", answerCanary}})
	for _, b := range []simulator.Behaviour{
		{Text: []string{answerCanary}},
		{Status: 400, Body: []byte(`{"error":{"message":"cannot read ` + promptCanary + `","type":"invalid_request_error"}}`)},
		{Status: 500, Body: []byte(promptCanary)},
		{Body: []byte(`<html>` + answerCanary)},
	} {
		mock.Then(b)
		g.Call(t, harness.Request{Key: k, Body: body(), Header: header})
	}
	g.Call(t, harness.Request{Key: k, Body: body(streaming), Header: header})
	mock.Then(simulator.Behaviour{Text: []string{answerCanary, answerCanary, answerCanary}, CutAfter: 3})
	g.Call(t, harness.Request{Key: k, Body: body(streaming), Header: header})
	g.Call(t, harness.Request{Key: k, Body: body(`"max_tokens":-1`), Header: header})
	g.Call(t, harness.Request{Key: k, Body: promptCanary, Header: header})
	g.Call(t, harness.Request{Path: "/proxy/v1/embeddings", Key: k, Body: `{"model":"embed","input":"` + promptCanary + `"}`, Header: header})
}

func TestUnloggedTextIsNotStored(t *testing.T) {
	t.Parallel()
	for name, setting := range map[string]struct {
		config string
		flags  []string
		header http.Header
	}{
		"off in the configuration": {config: "log: {bodies: false}"},
		"off for the key":          {flags: []string{"--no-bodies"}},
		"off for the request":      {header: http.Header{"X-Fairlead-Log-Body": {"false"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, mock := serve(t, setting.config)
			loud(t, g, mock, g.Key(t, setting.flags...), setting.header)
			running := scan(t, g.DataDir, promptCanary, answerCanary)
			entries := g.Entries(t, "", 9)
			listed, stderr, code := g.CLI(t, "requests", "list", "--json", "--limit", "200")
			if code != 0 {
				t.Fatalf("requests list: exit code %d\n%s", code, stderr)
			}
			for _, entry := range entries {
				detail, _, _ := g.CLI(t, "requests", "show", entry.ID, "--json", "--body")
				listed += detail
			}
			g.Stop(t)

			for _, found := range append(running, scan(t, g.DataDir, promptCanary, answerCanary)...) {
				t.Errorf("found on disk: %s", found)
			}
			for _, canary := range []string{promptCanary, answerCanary} {
				if strings.Contains(g.Log(), canary) {
					t.Errorf("%s is in the log", canary)
				}
				if strings.Contains(listed, canary) {
					t.Errorf("%s is in an entry: %s", canary, listed)
				}
			}
		})
	}
}

// The scan must find a secret that was stored on purpose.
func TestLoggedTextIsFoundByTheScan(t *testing.T) {
	t.Parallel()
	g, mock := serve(t)
	loud(t, g, mock, g.Key(t), nil)
	g.Stop(t)
	found := strings.Join(scan(t, g.DataDir, promptCanary, answerCanary), "\n")
	if !strings.Contains(found, promptCanary) || !strings.Contains(found, answerCanary) {
		t.Errorf("the scan found %q, want both texts", found)
	}
	if strings.Contains(g.Log(), promptCanary) || strings.Contains(g.Log(), answerCanary) {
		t.Error("the log contains text of a request")
	}
}

// scan searches for texts in every file under a directory. The texts are short, so that the store does not compress
// them.
func scan(t *testing.T, dir string, canaries ...string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, canary := range canaries {
			if bytes.Contains(data, []byte(canary)) {
				found = append(found, canary+" in "+path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
