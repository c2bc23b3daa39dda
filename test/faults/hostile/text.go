package hostile

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// HeaderHygiene is fault case F46: the headers of the client do not reach the provider, and the headers of the provider do not reach the
// client.
func HeaderHygiene(t *testing.T, _ scenario.Size) string {
	g, mock := scenario.Single(t)
	k := g.Key(t)
	mine := http.Header{
		"Cookie": {"session=canary"}, "Proxy-Authorization": {"Basic canary"}, "Proxy-Connection": {"keep-alive"},
		"X-Forwarded-For": {"canary"}, "X-Forwarded-Host": {"canary"}, "X-Forwarded-Proto": {"canary"}, "Forwarded": {"for=canary"}, "X-Real-Ip": {"canary"},
		"Te": {"trailers"}, "Trailer": {"X-Canary"}, "Upgrade": {"canary"}, "Connection": {"X-Named, close"}, "X-Named": {"canary"}, "Keep-Alive": {"timeout=canary"},
		"Openai-Organization": {"canary"}, "Openai-Project": {"canary"}, "X-Api-Key": {"canary"}, "Api-Key": {"canary"}, "X-Goog-Api-Key": {"canary"},
		"X-Fairlead-Trace": {"off"}, "X-Fairlead-Tags": {"a=canary"}, "Via": {"canary"}, "Referer": {"https://canary.example"}, "X-Stainless-Lang": {"canary"},
	}
	theirs := map[string]string{
		"Set-Cookie": "canary=1", "Server": "canary", "Location": "https://canary.example", "Openai-Organization": "canary", "Openai-Processing-Ms": "1",
		"X-Request-Id": "canary", "X-Fairlead-Model": "canary", "Access-Control-Allow-Origin": "*", "Strict-Transport-Security": "canary",
		"Cf-Ray": "canary", "Via": "canary", "X-Powered-By": "canary", "Www-Authenticate": "canary", "Alt-Svc": "canary",
	}
	mock.Always(simulator.Behaviour{Header: theirs})
	for name, r := range map[string]harness.Request{
		"whole":    {Body: scenario.Chat("m")},
		"stream":   {Body: scenario.Chat("m", scenario.Streaming)},
		"messages": {Path: "/proxy/v1/messages", Body: scenario.Chat("m", `"max_tokens":10`)},
		"response": {Path: "/proxy/v1/responses", Body: `{"model":"m","input":"Hello"}`},
	} {
		r.Key, r.Header = k, mine
		a := g.Call(t, r)
		if a.Status != http.StatusOK {
			t.Fatalf("%s: status %d, want 200: %s", name, a.Status, scenario.Clip(a.Body))
		}
		noCanary(t, name+" response", a.Header)
		for header := range a.Header {
			if !strings.HasPrefix(header, "X-Fairlead-") && !slices.Contains(ours, header) {
				t.Errorf("%s: the client got the header %s of the provider", name, header)
			}
		}
		if a.Header.Get("Set-Cookie") != "" || a.Header.Get("Server") != "" || a.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: the client got %v, want no Set-Cookie, Server and Access-Control-Allow-Origin", name, a.Header)
		}
	}
	failing := simulator.Fail(400)
	failing.Header = theirs
	mock.Then(failing)
	noCanary(t, "failure", g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m"), Header: mine}).Header)

	allowed := map[string]bool{"Authorization": true, "Content-Type": true, "Content-Length": true, "Accept": true, "User-Agent": true, "Accept-Encoding": true}
	for _, call := range mock.Calls() {
		noCanary(t, "provider's request", call.Header)
		for name := range call.Header {
			if !allowed[name] {
				t.Errorf("the provider got the header %s of the client", name)
			}
		}
		if got := call.Header.Get("Authorization"); got != "Bearer sk-alpha-0123456789" || strings.Contains(fmt.Sprint(call.Header), k) {
			t.Errorf("the provider got the Authorization %q, want its own credential, and no header with the client's key", got)
		}
	}
	return fmt.Sprintf("%d headers of the client and %d of the provider kept separate", len(mine), len(theirs))
}

// ours lists the response headers of the model API except the headers of the decision.
var ours = []string{
	"Cache-Control", "Connection", "Content-Length", "Content-Type", "Date", "Request-Id", "Retry-After", "X-Accel-Buffering", "X-Request-Id", "X-Should-Retry",
}

func noCanary(t *testing.T, what string, h http.Header) {
	t.Helper()
	for name, values := range h {
		if strings.Contains(strings.Join(values, " "), "canary") {
			t.Errorf("%s: the header %s is %v, want no canary", what, name, values)
		}
	}
}

// ControlCharacters is fault case F55: text from clients cannot break log lines, terminals or spreadsheets.
func ControlCharacters(t *testing.T, _ scenario.Size) string {
	g, mock := scenario.Single(t)
	k, reader := g.Key(t), g.Key(t, "--scopes", "read")
	evil := []string{
		"line\r\nbreak", "\x1b[31mred\x1b[0m", "nul\x00nul", "bell\a\b", "=cmd|'/c calc'!A1", "+1", "-1", "@sum(1)", "\ttab", "\rcr", "\u202ereversed", "a\u2028b", "\x9b31m",
	}
	mock.Always(simulator.Behaviour{})
	sent := 0
	for _, text := range evil {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{
			scenario.Chat("m", `"user":`+string(quoted), `"session_id":`+string(quoted), `"metadata":{"note":`+string(quoted)+`}`),
			`{"model":` + string(quoted) + `,"messages":[{"role":"user","content":` + string(quoted) + `}]}`,
		} {
			sent++
			mock.Then(simulator.Behaviour{Status: 400, Body: []byte(`{"error":{"message":` + string(quoted) + `,"code":` + string(quoted) + `}}`)})
			if a := g.Call(t, harness.Request{Key: k, Body: body, Header: loggedHeaders(text)}); a.Status >= 500 {
				t.Errorf("request with %q: status %d, want less than 500: %s", text, a.Status, scenario.Clip(a.Body))
			}
		}
	}
	scenario.Settled(t, g, reader)
	requests := 0
	for line := range strings.Lines(g.Log()) {
		var entry struct{ Msg string }
		if json.Unmarshal([]byte(line), &entry) != nil || strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\r\n\x00\x1b\a\b\t") {
			t.Errorf("a log line is not JSON or contains control characters: %q", line)
		}
		if entry.Msg == "request" {
			requests++
		}
	}
	if requests != sent {
		t.Errorf("the log has %d lines for %d requests", requests, sent)
	}
	for _, args := range [][]string{{"requests", "list"}, {"requests", "list", "--json"}, {"requests", "export", "--format", "csv", "--quiet"}} {
		stdout, stderr, code := g.CLI(t, args...)
		if code != 0 {
			t.Errorf("run %q: exit code %d\n%s", args, code, stderr)
		}
		if strings.ContainsAny(stdout, "\x1b\x00\a\b") {
			t.Errorf("run %q: the output contains control characters: %q", args, scenario.Clip([]byte(stdout)))
		}
	}
	cells := checkCells(t, g, reader)
	return fmt.Sprintf("%d requests, one line each; %d cells without a formula", sent, cells)
}

// loggedHeaders returns the headers that the gateway logs. Their value is the text without the characters that a header cannot contain.
func loggedHeaders(text string) http.Header {
	fit := strings.Map(func(r rune) rune {
		if r == '\r' || r == '\n' || r == 0 || r < ' ' && r != '\t' || r == 0x7f {
			return -1 // client libraries do not send these characters
		}
		return r
	}, text)
	return http.Header{"User-Agent": {fit}, "X-Fairlead-Tags": {"note=" + fit}, "X-Fairlead-Session": {fit}, "Traceparent": {fit}}
}

// checkCells checks that no cell of the CSV export begins like a spreadsheet formula, and returns the number of cells.
func checkCells(t *testing.T, g *harness.Gateway, reader string) int {
	t.Helper()
	a := g.Call(t, harness.Request{
		Method: http.MethodGet, Key: reader,
		Path: "/api/v1/requests/export?format=csv&columns=id,requested_model,session,end_user,error_code,error_message,tags,key_name,preview,client,finish_reason,model",
	})
	rows, err := csv.NewReader(strings.NewReader(string(a.Body))).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("the export has %d rows (%v), want at least 2: %s", len(rows), err, scenario.Clip(a.Body))
	}
	cells := 0
	for _, row := range rows {
		for _, cell := range row {
			cells++
			if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r") {
				t.Errorf("the cell %q begins like a formula", cell)
			}
		}
	}
	return cells
}

// BadReload is fault case F59: an invalid configuration changes nothing, even under load.
func BadReload(t *testing.T, size scenario.Size) string {
	_, url := harness.Upstream(t)
	good := harness.Config(t, []harness.Provider{{Name: "alpha", BaseURL: url, Models: []harness.Model{harness.Chat("m", 0.4, 1.6, 0.5)}}})
	g := harness.Start(t, harness.Options{Config: good})
	k := g.Key(t)
	var served, failed atomic.Int64
	stop := make(chan struct{})
	var traffic sync.WaitGroup
	for range 4 {
		traffic.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m")}).Status != http.StatusOK {
					failed.Add(1)
				}
				served.Add(1)
			}
		})
	}
	bad := map[string]struct{ text, reason string }{
		"unknown field":    {good + "colour: x\n", "colour"},
		"not YAML":         {"providers: [\n", "line"},
		"too large":        {good + "#" + strings.Repeat("x", 2<<20) + "\n", "larger"},
		"a short secret":   {good + "master_key: abc\n", "master_key"},
		"an unknown model": {good + "policies: [{name: mine, pin: no-such-model}]\n", `unknown model \"no-such-model\"`},
		"an alias bomb":    {"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n", ""},
		"two documents":    {good + "---\nlisten: x\n", ""},
		"bytes":            {"\x00\xff\xfe", ""},
		"nonsense":         {good + "limits: {body: -1}\n", "body"},
	}
	refused := 0
	for range size.Of(1, 5) {
		for _, name := range slices.Sorted(maps.Keys(bad)) { // never the same file twice in a row, because the second write would not be a change
			before := strings.Count(g.Log(), "configuration rejected")
			g.SetConfig(t, bad[name].text)
			harness.Eventually(t, name+" is rejected", func() bool { return strings.Count(g.Log(), "configuration rejected") > before })
			log := g.Log()
			if last := log[strings.LastIndex(log, "configuration rejected"):]; !strings.Contains(last, bad[name].reason) {
				t.Errorf("%s: the log lacks the reason %q: %s", name, bad[name].reason, scenario.Clip([]byte(last)))
			}
			if ready := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/readyz"}); ready.Status != http.StatusOK {
				t.Errorf("%s: readyz returned %d, want 200", name, ready.Status)
			}
			refused++
		}
	}
	close(stop)
	traffic.Wait()
	g.SetConfig(t, strings.ReplaceAll(good, "name: m", "name: renamed"))
	harness.Eventually(t, "a valid file is applied", func() bool {
		return g.Call(t, harness.Request{Key: k, Body: scenario.Chat("renamed")}).Status == http.StatusOK
	})
	if failed.Load() > 0 {
		t.Errorf("%d of %d requests failed", failed.Load(), served.Load())
	}
	return fmt.Sprintf("%d files rejected, %d of %d requests failed", refused, failed.Load(), served.Load())
}
