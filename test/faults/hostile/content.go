package hostile

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

const (
	promptCanary = "canaryprompt7Qx2pW9zLm"
	answerCanary = "canaryanswer4Rt8vB1nKs"
)

var canaries = map[string]string{"prompt": promptCanary, "answer": answerCanary}

// ContentIsNotStored checks promise P15: if text must not be stored, it is not on disk, in logs or in errors, with either database.
func ContentIsNotStored(t *testing.T, _ scenario.Size) string {
	off := map[string]func(t *testing.T, p scenario.Person) (key string, header http.Header){
		"for the key": func(t *testing.T, p scenario.Person) (string, http.Header) {
			t.Helper()
			return p.Key(t, `"log_bodies":false`).Text, nil
		},
		"for the request": func(t *testing.T, p scenario.Person) (string, http.Header) {
			t.Helper()
			return p.Key(t).Text, http.Header{"X-Fairlead-Log-Body": {"false"}}
		},
		"for the workspace": func(t *testing.T, p scenario.Person) (string, http.Header) {
			t.Helper()
			if a := p.Call(t, http.MethodPatch, "/workspace", `{"log_bodies":false}`); a.Status != http.StatusOK {
				t.Fatalf("disable storing of bodies: status %d, want 200: %s", a.Status, a.Body)
			}
			return p.Key(t).Text, nil
		},
		"in the configuration": func(t *testing.T, p scenario.Person) (string, http.Header) {
			t.Helper()
			return p.Key(t).Text, nil
		},
	}
	g, mock := scenario.Single(t) // stores bodies, so the scan must find the texts
	loud(t, g, mock, g.Key(t), nil)
	g.Stop(t)
	if found := scan(t, g.DataDir, canaries); len(found) < len(canaries) {
		t.Errorf("the scan of stored texts found %v, want both texts", found)
	}
	requests, places := 0, 0
	for store, dsn := range stores(t) {
		for where, turnOff := range off {
			var lines []string
			if dsn != "" {
				if where != "for the key" {
					continue // the other ways to turn off logging do not depend on the database
				}
				lines = append(lines, "store: "+dsn)
			}
			if where == "in the configuration" {
				lines = append(lines, "log: {bodies: false}")
			}
			r, p := unlogged(t, store+", storing disabled "+where, dsn, turnOff, lines...)
			requests, places = requests+r, places+p
		}
	}
	return fmt.Sprintf("%d requests with storing disabled in %d ways: 0 matches in %d files and tables, logs and entries", requests, len(off), places)
}

func unlogged(t *testing.T, name, dsn string, turnOff func(*testing.T, scenario.Person) (string, http.Header), lines ...string) (requests, places int) {
	t.Helper()
	g, mock := scenario.Single(t, append(lines, "retries: {attempts: 1}", "breaker: {failures: 1000}")...)
	p := scenario.Register(t, g, "ann@example.com")
	k, header := turnOff(t, p)
	requests = loud(t, g, mock, k, header)
	found := scan(t, g.DataDir, canaries)
	scenario.Settled(t, g, g.Key(t, "--scopes", "read"))
	for _, e := range g.Entries(t, "", -1) {
		whole := p.Call(t, http.MethodGet, "/requests/"+e.ID, "").Body
		if entry := string(e.Raw) + string(whole) + string(p.Call(t, http.MethodGet, "/requests/"+e.ID+"/body", "").Body); strings.Contains(entry, promptCanary) || strings.Contains(entry, answerCanary) {
			t.Errorf("%s: an entry contains text of a request: %s", name, entry)
		}
	}
	export := string(p.Call(t, http.MethodGet, "/requests/export?format=jsonl", "").Body)
	listed, _, _ := g.CLI(t, "requests", "list", "--json", "--limit", "200")
	for _, e := range g.Entries(t, "", -1) {
		shown, _, _ := g.CLI(t, "requests", "show", e.ID, "--json", "--body")
		listed += shown
	}
	found = append(found, scan(t, g.DataDir, canaries)...)
	g.Stop(t)
	found = append(found, scan(t, g.DataDir, canaries)...)
	places = countFiles(t, g.DataDir)
	if dsn != "" {
		more, tables := scanTables(t, dsn, canaries)
		found, places = append(found, more...), places+tables
	}
	for _, f := range found {
		t.Errorf("%s: found in a file or a table: %s", name, f)
	}
	for what, canary := range canaries {
		if strings.Contains(g.Log(), canary) || strings.Contains(export+listed, canary) {
			t.Errorf("%s: the %s is in the log, in the export or in the output of the command line", name, what)
		}
	}
	return requests, places
}

// loud sends requests whose text could leak in different ways: complete and streamed responses, rejections that quote the
// prompt, interrupted streams, rejected bodies, tool calls, other formats.
func loud(t *testing.T, g *harness.Gateway, mock *simulator.Mock, k string, header http.Header) int {
	t.Helper()
	say := func(more ...string) string {
		return strings.Replace(scenario.Chat("m", more...), "Hello", promptCanary, 1)
	}
	answer := simulator.Behaviour{Text: []string{answerCanary, " and ", answerCanary}}
	quoting := simulator.Behaviour{Status: 400, Body: []byte(`{"error":{"message":"cannot read ` + promptCanary + `","type":"invalid_request_error"}}`)}
	n := 0
	for _, r := range []struct {
		b    simulator.Behaviour
		path string
		body string
	}{
		{answer, "", say()},
		{answer, "", say(scenario.Streaming)},
		{answer, "", say(scenario.Streaming, `"tools":[{"type":"function","function":{"name":"f","description":"`+promptCanary+`","parameters":{}}}]`)},
		{quoting, "", say()},
		{simulator.Behaviour{Status: 500, Body: []byte(promptCanary)}, "", say()},
		{simulator.Behaviour{Body: []byte(`<html>` + answerCanary)}, "", say()},
		{simulator.Behaviour{Text: answer.Text, CutAfter: 3}, "", say(scenario.Streaming)},
		{simulator.Behaviour{Events: []string{scenario.RoleChunk, scenario.TextChunk(answerCanary), `{"error":{"message":"` + promptCanary + `"}}`}, NoDone: true}, "", say(scenario.Streaming)},
		{answer, "", say(`"max_tokens":-1`)},
		{answer, "", promptCanary},
		{answer, "", say(`"` + promptCanary + `":1,"` + promptCanary + `":2`)},
		{answer, "", strings.Replace(say(), `"m"`, `"`+"m"+`","stop":["`+promptCanary+`"]`+`,"x":"y"`, 1)},
		{answer, "/proxy/v1/messages", say(`"max_tokens":10`, `"system":"`+promptCanary+`"`)},
		{answer, "/proxy/v1/responses", `{"model":"m","input":"` + promptCanary + `","instructions":"` + promptCanary + `"}`},
		{quoting, "/proxy/v1/messages", say(`"max_tokens":10`)},
	} {
		n++
		mock.Always(r.b)
		g.Call(t, harness.Request{Path: r.path, Key: k, Body: r.body, Header: header})
	}
	mock.Always(answer)
	return n
}
