// Package streams holds the fault cases about streams: failures before and after the first token, rescue, disconnects.
package streams

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// CutStream is fault case F21: an interrupted stream never ends as if it were complete.
func CutStream(t *testing.T, _ scenario.Size) string {
	g, mock := scenario.Single(t, "rescue: off", "breaker: {failures: 100}")
	k := g.Key(t)
	forms := map[string]simulator.Behaviour{
		"cut":                {Text: []string{"one", " two", " three"}, CutAfter: 3},
		"reset":              {Handler: cutBy(true)},
		"end without finish": {Events: []string{scenario.RoleChunk, scenario.TextChunk("one"), scenario.TextChunk(" two")}, NoDone: true},
		"done without finish": {
			Events: []string{scenario.RoleChunk, scenario.TextChunk("one"), scenario.TextChunk(" two")},
		},
		"error event":  {Events: []string{scenario.RoleChunk, scenario.TextChunk("one"), scenario.TextChunk(" two"), scenario.ErrorData}, NoDone: true},
		"broken event": {Events: []string{scenario.RoleChunk, scenario.TextChunk("one"), scenario.TextChunk(" two"), `{"id":"x","choi`}, NoDone: true},
	}
	for name, behaviour := range forms {
		mock.Then(behaviour)
		resp := g.Open(t, harness.Request{Key: k, Body: scenario.Chat("m", scenario.Streaming)})
		e := scenario.ReadEvents(resp.Body)
		_ = resp.Body.Close()
		if e.Failed() != "PROVIDER_UPSTREAM_ERROR" || e.Text() != "one two" || strings.Contains(strings.Join(e.Data, ""), "[DONE]") {
			t.Errorf("%s: the text is %q and the last event %v, want %q and PROVIDER_UPSTREAM_ERROR",
				name, e.Text(), e.Data[max(0, len(e.Data)-1):], "one two")
		}
		entry := g.Entry(t, resp.Header.Get("X-Request-Id"))
		if entry.Outcome != "partial" || entry.Status != 200 || entry.Cost == nil || scenario.Nano(t, *entry.Cost) <= 0 || entry.Tokens.Output == 0 {
			t.Errorf("%s: the entry must be partial with status 200, a cost and output tokens: %s", name, entry.Raw)
		}
	}
	return fmt.Sprintf("%d kinds of interruption, each ended with an error event and charged", len(forms))
}

// cutBy sends two words and breaks the connection, with a reset or by closing it.
func cutBy(reset bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = rw.WriteString("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
		for _, data := range []string{scenario.RoleChunk, scenario.TextChunk("one"), scenario.TextChunk(" two")} {
			event := "data: " + data + "\n\n"
			_, _ = fmt.Fprintf(rw, "%x\r\n%s\r\n", len(event), event)
		}
		_ = rw.Flush() // the client may have disconnected
		if linger, ok := conn.(interface{ SetLinger(sec int) error }); ok && reset {
			time.Sleep(20 * time.Millisecond) // wait until the data has arrived, because a reset discards data in flight
			_ = linger.SetLinger(0)
		}
		_ = conn.Close()
	})
}

// ClientDisconnects is fault case F22: a client disconnect stops the work immediately.
func ClientDisconnects(t *testing.T, size scenario.Size) string {
	g, mock := scenario.Single(t, "timeouts: {idle: 60s}")
	k := g.Key(t)
	c := scenario.Client(t)
	forms := []struct {
		name      string
		behaviour simulator.Behaviour
		body      string
		reads     bool // whether the client reads part of the response
	}{
		{"before headers", simulator.Behaviour{Silent: true}, scenario.Chat("m"), false},
		{"before the first token", simulator.Behaviour{SilentAfter: 1}, scenario.Chat("m", scenario.Streaming), false},
		{"midway", simulator.Behaviour{Text: []string{"one", " two", " three"}, SilentAfter: 3}, scenario.Chat("m", scenario.Streaming), true},
	}
	var slowest time.Duration
	for round := range size.Of(1, 20) {
		for _, f := range forms {
			session := fmt.Sprintf("%s %d", f.name, round)
			mock.Then(f.behaviour)
			before := len(mock.Calls())
			ctx, leave := context.WithCancel(t.Context())
			answered := make(chan struct{})
			go func() {
				defer close(answered)
				sendAndDisconnect(ctx, t, c, g, k, f.body, session, f.reads, leave)
			}()
			call, err := mock.Await(t.Context(), before+1)
			if err != nil {
				t.Fatal(err)
			}
			if !f.reads {
				leave()
			}
			<-answered
			left := time.Now()
			select {
			case <-call.Gone():
			case <-time.After(10 * time.Second):
				t.Fatalf("%s: the provider's call was not closed within 10 s", f.name)
			}
			slowest = max(slowest, time.Since(left))
			checkDisconnectedEntry(t, g, f.name, session, f.reads)
			if n := len(mock.Calls()); n != before+1 {
				t.Errorf("%s: got %d calls for a disconnected client, want 1", f.name, n-before)
			}
		}
	}
	if slowest > size.Limit(time.Second) {
		t.Errorf("the provider's call was closed after %s, want at most 1 s", slowest)
	}
	return fmt.Sprintf("provider's call closed within %s", slowest.Round(time.Millisecond))
}

// sendAndDisconnect sends a request. If reads is set, it disconnects after the first words. Otherwise no response may arrive before ctx is
// done.
func sendAndDisconnect(ctx context.Context, t *testing.T, c *http.Client, g *harness.Gateway, key, body, session string, reads bool, leave func()) {
	t.Helper()
	req, err := scenario.Post(ctx, g, key, body, "X-Fairlead-Session", session)
	if err != nil {
		t.Error(err)
		return
	}
	resp, err := c.Do(req)
	if err != nil {
		return // the client has disconnected
	}
	defer resp.Body.Close()
	if !reads {
		t.Errorf("%s: got a response with status %d, want none before the disconnect", session, resp.StatusCode)
	}
	var seen bytes.Buffer
	chunk := make([]byte, 4<<10)
	for !strings.Contains(seen.String(), "two") {
		n, err := resp.Body.Read(chunk)
		seen.Write(chunk[:n])
		if err != nil {
			t.Errorf("%s: the stream was interrupted: %v", session, err)
			return
		}
	}
	leave()
}

func checkDisconnectedEntry(t *testing.T, g *harness.Gateway, name, session string, charged bool) {
	t.Helper()
	entries := g.Entries(t, "session="+strings.ReplaceAll(session, " ", "%20"), 1)
	if len(entries) != 1 {
		return
	}
	e := entries[0]
	if e.Outcome != "cancelled" || e.Error == nil || e.Error.Code != "CLIENT_CANCELLED" {
		t.Errorf("%s: the entry has the outcome %s and the error %+v, want cancelled and CLIENT_CANCELLED", name, e.Outcome, e.Error)
	}
	if charged && (e.Cost == nil || scenario.Nano(t, *e.Cost) <= 0 || e.Tokens.Input == 0 || e.Tokens.Output == 0) {
		t.Errorf("%s: the entry must have a cost and tokens, because text was delivered: %s", name, e.Raw)
	}
}

// EventCorpus is fault case F23: the client receives the content, regardless of how the provider formats and splits its stream.
func EventCorpus(t *testing.T, _ scenario.Size) string {
	const words = "héllo 🌊 “wörld” \\n\\t end"
	const want = "héllo 🌊 “wörld” \n\t end"
	plain := "data: " + scenario.RoleChunk + "\n\ndata: " + scenario.TextChunk(words) + "\n\ndata: " + scenario.StopChunk + "\n\ndata: [DONE]\n\n"
	broken := strings.Replace(scenario.TextChunk(words), `"choices":`, "\"choices\":\ndata: ", 1)
	forms := map[string]string{
		"plain":           plain,
		"CRLF":            strings.ReplaceAll(plain, "\n", "\r\n"),
		"CR":              strings.ReplaceAll(plain, "\n", "\r"),
		"no space":        strings.ReplaceAll(plain, "data: ", "data:"),
		"byte order mark": "\ufeff" + plain,
		"comments":        ": hello\n\n" + strings.ReplaceAll(plain, "\n\n", "\n: between\n\n: again\n\n"),
		"other fields":    strings.ReplaceAll(plain, "data: ", "event: message\nid: 7\nretry: 10\nx-unknown: y\ndata: "),
		"data in lines":   "data: " + scenario.RoleChunk + "\n\ndata: " + broken + "\n\ndata: " + scenario.StopChunk + "\n\ndata: [DONE]\n\n",
		"empty events":    "\n\n\ndata\n\n" + strings.ReplaceAll(plain, "data: {", "\n\n\ndata: {"),
		"no end marker":   strings.TrimSuffix(plain, "data: [DONE]\n\n"),
		"end of file":     strings.TrimSuffix(plain, "\n"),
	}
	g, mock := scenario.Single(t, "breaker: {failures: 100}")
	k := g.Key(t)
	tried := 0
	for name, text := range forms {
		for _, step := range []int{len(text), 1, 7} {
			tried++
			mock.Then(simulator.Behaviour{Handler: inSteps(text, step)})
			resp := g.Open(t, harness.Request{Key: k, Body: scenario.Chat("m", scenario.Streaming)})
			e := scenario.ReadEvents(resp.Body)
			_ = resp.Body.Close()
			if e.Text() != want || !e.Done() {
				t.Errorf("%s in steps of %d: status %d, text %q, want %q and [DONE]; events %v",
					name, step, resp.StatusCode, e.Text(), want, e.Data)
			}
		}
	}
	return fmt.Sprintf("%d streams equal to the reference", tried)
}

// inSteps writes a stream in pieces of step bytes.
func inSteps(text string, step int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for rest := text; rest != ""; {
			n := min(step, len(rest))
			if _, err := io.WriteString(w, rest[:n]); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush() // the next write detects a disconnect
			rest = rest[n:]
		}
	})
}

// SilentProvider is fault case F24: the gateway sends comments to a client during silence, and a provider that is silent for too
// long is treated as interrupted.
func SilentProvider(t *testing.T, size scenario.Size) string {
	g, mock := scenario.Single(t, "rescue: off", "timeouts: {idle: 400ms}")
	k := g.Key(t)
	mock.Then(simulator.Behaviour{Text: []string{"one", " two"}, SilentAfter: 3})
	began := time.Now()
	resp := g.Open(t, harness.Request{Key: k, Body: scenario.Chat("m", scenario.Streaming)})
	e := scenario.ReadEvents(resp.Body)
	_ = resp.Body.Close()
	took := time.Since(began)
	if e.Failed() != "PROVIDER_TIMEOUT" || e.Done() || e.Text() != "one two" || took > 3*time.Second {
		t.Errorf("the stream ended after %s with %v, want \"one two\" and PROVIDER_TIMEOUT within 3 s", took, e.Data)
	}
	if entry := g.Entry(t, resp.Header.Get("X-Request-Id")); entry.Outcome != "partial" {
		t.Errorf("the outcome is %s, want partial", entry.Outcome)
	}
	figure := fmt.Sprintf("ended %s after the start", took.Round(10*time.Millisecond))
	if size == scenario.Fast {
		return figure
	}
	return figure + "; " + keepAlive(t)
}

// keepAlive waits for the comments during a long silence, before and after the first token.
func keepAlive(t *testing.T) string {
	t.Helper()
	g, mock := scenario.Single(t, "timeouts: {idle: 60s}")
	k := g.Key(t)
	late := func(event int) simulator.Behaviour {
		return simulator.Behaviour{Text: []string{"one", " two"}, BeforeEvent: func(_ *simulator.Call, i int) {
			if i == event {
				time.Sleep(17 * time.Second) // comments depend on the gateway's clock
			}
		}}
	}
	comments := make([]int, 2)
	mock.Then(late(0), late(2))
	scenario.Together(2, 2, func(i int) {
		resp := g.Open(t, harness.Request{Key: k, Body: scenario.Chat("m", scenario.Streaming)})
		defer resp.Body.Close()
		e := scenario.ReadEvents(resp.Body)
		comments[i] = e.Comments
		if e.Text() != "one two" || !e.Done() || e.Comments == 0 {
			t.Errorf("stream with 17 s of silence: got %d comments, want at least 1 and the complete text: %v", e.Comments, e.Data)
		}
	})
	return fmt.Sprintf("%d and %d comments in 17 s of silence", comments[0], comments[1])
}
