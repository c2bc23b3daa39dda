package hostile

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/internal/store/pgtest"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// SecretsAreNotExposed is fault case F58: credentials, keys, passwords and sessions do not appear in plain text anywhere, with either
// database.
func SecretsAreNotExposed(t *testing.T, _ scenario.Size) string {
	files, answers := 0, 0
	for name, dsn := range stores(t) {
		f, a := canariesIn(t, name, dsn)
		files, answers = files+f, answers+a
	}
	return fmt.Sprintf("5 secrets in SQLite and PostgreSQL: 0 matches in %d files and tables, %d responses, logs and command lines", files, answers)
}

// stores returns the DSNs of the databases by name. An empty DSN means the embedded database.
func stores(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{"SQLite": "", "PostgreSQL": pgtest.Start(t)}
}

func canariesIn(t *testing.T, name, dsn string) (files, answered int) {
	t.Helper()
	const fromFile, fromPage = "sk-canary-file-credential-0987654321", "sk-canary-page-credential-1234567890"
	mock, upstream := harness.Upstream(t)
	lines := []string{"breaker: {failures: 1000}", "retries: {attempts: 1}"}
	if dsn != "" {
		lines = append(lines, "store: "+dsn)
	}
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: upstream, APIKeys: []string{fromFile}, Models: []harness.Model{harness.Chat("m", 1, 1, 0.5)},
	}}, lines...)})
	p := scenario.Register(t, g, "ann@example.com")
	k := p.Key(t, `"scopes":["inference","read"]`)
	reader := g.Key(t, "--scopes", "read")
	secrets := map[string]string{"credential": fromFile, "credential of the dashboard": fromPage, "key": k.Text, "password": scenario.Password, "session": p.Token}
	answers := []harness.Answer{p.Call(t, http.MethodPost, "/providers/alpha/credentials", `{"secret":`+scenario.Quote(fromPage)+`}`)}
	if answers[0].Status != http.StatusCreated {
		t.Fatalf("add a credential: status %d, want 201: %s", answers[0].Status, answers[0].Body)
	}
	release := func() {}
	if dsn == "" {
		release = scenario.HoldDatabase(t, g) // keeps log entries in the spool
	}
	answers = append(answers, echoes(t, g, mock, k.Text)...)
	found := scan(t, g.DataDir, secrets)
	release()
	scenario.Settled(t, g, reader)
	for _, path := range []string{
		"/requests", "/keys", "/providers", "/settings", "/audit", "/overview", "/account", "/session", "/models", "/account/sessions", "/workspace/members", "/requests/export?format=jsonl", "/requests/export?format=csv",
	} {
		answers = append(answers, p.Call(t, http.MethodGet, path, ""))
	}
	for _, e := range g.Entries(t, "", -1) {
		answers = append(answers, p.Call(t, http.MethodGet, "/requests/"+e.ID, ""), p.Call(t, http.MethodGet, "/requests/"+e.ID+"/body", ""))
	}
	answers = append(answers, g.Call(t, harness.Request{Method: http.MethodGet, Path: "/metrics", Key: reader}))
	var output strings.Builder
	output.WriteString(g.Log())
	for _, args := range [][]string{{"keys", "list", "--json"}, {"providers", "list", "--json"}, {"config", "print"}, {"requests", "list", "--json"}} {
		stdout, stderr, _ := g.CLI(t, args...)
		output.WriteString(stdout + stderr)
	}
	if dsn == "" {
		backUp(t, g)
	}
	found = append(found, scan(t, g.DataDir, secrets)...)
	g.Stop(t)
	found = append(found, scan(t, g.DataDir, secrets)...)
	tables := 0
	if dsn != "" {
		var more []string
		more, tables = scanTables(t, dsn, secrets)
		found = append(found, more...)
	}
	for _, f := range found {
		t.Errorf("%s: found in a file or a table: %s", name, f)
	}
	for what, secret := range secrets {
		for i, a := range answers {
			if strings.Contains(string(a.Body)+fmt.Sprint(a.Header), secret) {
				t.Errorf("%s: the %s is in response %d: status %d, %s", name, what, i, a.Status, scenario.Clip(a.Body))
			}
		}
		if strings.Contains(output.String()+g.Log(), secret) {
			t.Errorf("%s: the %s is in the log or in the output of the command line", name, what)
		}
	}
	return countFiles(t, g.DataDir) + tables, len(answers)
}

// echoes makes the provider repeat the request in every part of a response.
func echoes(t *testing.T, g *harness.Gateway, mock *simulator.Mock, k string) []harness.Answer {
	t.Helper()
	echo := func(status int, form string) simulator.Behaviour {
		return simulator.Behaviour{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			secret := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			kind := "application/json"
			if strings.HasPrefix(form, "data:") {
				kind = "text/event-stream"
			}
			w.Header().Set("Content-Type", kind)
			w.Header().Set("X-Debug-Key", secret)
			w.Header().Set("X-Request-Id", secret)
			w.WriteHeader(status)
			_, _ = fmt.Fprint(w, strings.ReplaceAll(form, "SECRET", secret)) // the gateway may have disconnected
		})}
	}
	whole := `{"id":"x","object":"chat.completion","model":"SECRET","choices":[{"index":0,"message":{"role":"assistant","content":"your key is SECRET, is it not"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`
	event := `data: {"id":"x","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"SECRET"},"finish_reason":null}]}` + "\n\n"
	var answers []harness.Answer
	for _, b := range []struct {
		status int
		form   string
		stream bool
	}{
		{400, `{"error":{"message":"bad key SECRET","type":"SECRET","code":"SECRET"}}`, false},
		{500, `SECRET`, false},
		{200, `<html>SECRET`, false},
		{200, whole, false},
		{200, event + `data: {"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n", true},
		{200, event + `data: {"error":{"message":"SECRET is over its quota"}}` + "\n\n", true},
		{200, `data: {"error":{"message":"SECRET"}}` + "\n\n", true},
		{200, "data: SECRET\n\n", true},
		{429, `{"error":"SECRET"}`, false},
		{401, `{"error":{"message":"Incorrect API key provided: SECRET"}}`, false}, // the last two responses make credentials back off
	} {
		for range 2 { // once for each credential
			mock.Always(echo(b.status, b.form))
			body := scenario.Chat("m")
			if b.stream {
				body = scenario.Chat("m", scenario.Streaming)
			}
			answers = append(answers, g.Call(t, harness.Request{Key: k, Body: body, Header: http.Header{"X-Fairlead-Trace": {"full"}}}))
		}
	}
	return answers
}

// forms returns the encodings in which a secret could be stored.
func forms(secret string) []string {
	return []string{secret, hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret)))}
}

// scan searches for secrets in every file under a directory.
func scan(t *testing.T, dir string, secrets map[string]string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for what, secret := range secrets {
			for _, form := range forms(secret) {
				if bytes.Contains(data, []byte(form)) {
					found = append(found, "the "+what+" is in "+filepath.Base(path))
				}
			}
		}
		return nil
	})
	if err != nil && !os.IsNotExist(err) { // spool files may be removed at any time
		t.Fatal(err)
	}
	return found
}

func countFiles(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// backUp copies the embedded database into a file next to the database, like a backup of an operator.
func backUp(t *testing.T, g *harness.Gateway) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(g.DataDir, "fairlead.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), "vacuum into $1", filepath.Join(g.DataDir, "backup.db")); err != nil {
		t.Fatalf("back up: %v", err)
	}
}

// scanTables searches for secrets in every row of every table.
func scanTables(t *testing.T, dsn string, secrets map[string]string) (found []string, tables int) {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, table := range texts(t, db, "select table_name::text from information_schema.tables where table_schema = current_schema() and table_type = 'BASE TABLE'") {
		tables++
		for _, row := range texts(t, db, `select x::text from "`+table+`" x`) {
			for what, secret := range secrets {
				for _, form := range forms(secret) {
					if strings.Contains(row, form) {
						found = append(found, "the "+what+" is in the table "+table)
					}
				}
			}
		}
	}
	if tables == 0 {
		t.Error("the database has no tables")
	}
	return found, tables
}

func texts(t *testing.T, db *sql.DB, query string) (list []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		list = append(list, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}
