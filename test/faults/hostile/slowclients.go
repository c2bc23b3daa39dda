package hostile

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// SlowReaders checks that an unread response uses at most 256 KiB and is ended in time, and that a slowly read response
// completes.
func SlowReaders(t *testing.T, size scenario.Size) string {
	pause := time.Duration(size.Of(4, 20)) * time.Second
	idle := pause / 4
	g, mock := scenario.Single(t, fmt.Sprintf("limits: {read_pause: %s}", pause), fmt.Sprintf("timeouts: {idle: %s}", idle), "rescue: off")
	k, reader := g.Key(t), g.Key(t, "--scopes", "read")
	before := scenario.Resident(t, g)
	n := size.Of(100, 500)
	cut := stalled(t, g, mock, k, n, pause)
	peak := cut.peak - before
	if most := int64(n)*(256<<10) + 32<<20; peak > most {
		t.Errorf("memory grew by %s with %d unread streams, want at most %s", scenario.Mib(peak), n, scenario.Mib(most))
	}
	if cut.first < pause/2 || cut.last > pause+3*time.Second {
		t.Errorf("unread streams ended after %s to %s, want %s to %s", cut.first, cut.last, pause/2, pause+3*time.Second)
	}
	g.Entries(t, "outcome=cancelled", min(n, 200)) // a page of the log has at most 200 entries
	paused := readAfterPause(t, g, mock, k, pause)
	steady := readSlowly(t, g, mock, k, pause)
	if a := g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m")}); a.Status != http.StatusOK {
		t.Errorf("request after the unread streams: status %d, want 200: %s", a.Status, scenario.Clip(a.Body))
	}
	scenario.Settled(t, g, reader)
	return fmt.Sprintf("%d unread streams cut after %s–%s, memory %+d MiB; one that paused %s received all, so did one that took %s",
		n, cut.first.Round(100*time.Millisecond), cut.last.Round(100*time.Millisecond), peak>>20, paused.Round(100*time.Millisecond), steady.Round(100*time.Millisecond))
}

// cutTimes holds the times at which unread streams were ended, and the maximum memory until then.
type cutTimes struct {
	first, last time.Duration
	peak        int64
}

// stalled opens endless streams and reads nothing from them.
func stalled(t *testing.T, g *harness.Gateway, mock *simulator.Mock, k string, n int, pause time.Duration) cutTimes {
	t.Helper()
	ended := make(chan time.Time, n)
	mock.Always(simulator.Behaviour{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { ended <- time.Now() }()
		w.Header().Set("Content-Type", "text/event-stream")
		long := scenario.TextChunk(strings.Repeat("x", 4<<10))
		for r.Context().Err() == nil {
			if _, err := fmt.Fprintf(w, "data: %s\n\n", long); err != nil {
				return
			}
		}
	})})
	stop := scenario.WatchMemory(t, g)
	began := time.Now()
	body := scenario.Chat("m", scenario.Streaming)
	for range n {
		conn, _ := rawPost(t, g, k, int64(len(body)))
		if _, err := io.WriteString(conn, body); err != nil {
			t.Fatal(err)
		}
	}
	c := cutTimes{first: time.Hour}
	for i := range n {
		select {
		case at := <-ended:
			c.first, c.last = min(c.first, at.Sub(began)), max(c.last, at.Sub(began))
		case <-time.After(pause + 30*time.Second):
			t.Fatalf("%d of %d unread streams did not end", n-i, n)
		}
	}
	c.peak = stop()
	mock.Always(simulator.Behaviour{})
	return c
}

// readAfterPause stops reading for less than the client timeout, but for longer than a provider may be silent. The complete
// response must arrive.
func readAfterPause(t *testing.T, g *harness.Gateway, mock *simulator.Mock, k string, pause time.Duration) time.Duration {
	t.Helper()
	piece := strings.Repeat("y", 64<<10)
	text := make([]string, 256)
	for i := range text {
		text[i] = piece
	}
	mock.Then(simulator.Behaviour{Text: text})
	resp := g.Open(t, harness.Request{Key: k, Body: scenario.Chat("m", scenario.Streaming)})
	defer resp.Body.Close()
	wait := pause * 6 / 10
	time.Sleep(wait) // the pause is under test
	if e := scenario.ReadEvents(resp.Body); !e.Done() || len(e.Text()) != len(piece)*len(text) {
		t.Errorf("after a pause of %s, the stream ended with the error %q and %d bytes, want %d bytes",
			wait, e.Failed(), len(e.Text()), len(piece)*len(text))
	}
	return wait
}

// readSlowly reads a long non-streamed response slowly, for longer than a client may pause.
func readSlowly(t *testing.T, g *harness.Gateway, mock *simulator.Mock, k string, pause time.Duration) time.Duration {
	t.Helper()
	const length = 24 << 20
	mock.Then(simulator.Behaviour{Text: []string{strings.Repeat("z", length)}})
	began := time.Now()
	resp := g.Open(t, harness.Request{Key: k, Body: scenario.Chat("m")})
	defer resp.Body.Close()
	const steps = 30
	got, err := int64(0), error(nil)
	for range steps {
		var n int64
		if n, err = io.CopyN(io.Discard, resp.Body, length/steps); err != nil {
			break
		}
		got += n
		time.Sleep(pause * 3 / 2 / steps) // the slowness is under test
	}
	rest, _ := io.Copy(io.Discard, resp.Body)
	if took := time.Since(began); err != nil || got+rest < length || took < pause {
		t.Errorf("a slow reader got %d bytes within %s (%v), want %d bytes after at least %s", got+rest, took, err, length, pause)
	}
	return time.Since(began)
}

// SlowWriters checks that a body that does not arrive times out and does not delay other requests.
func SlowWriters(t *testing.T, size scenario.Size) string {
	pause := time.Duration(size.Of(500, 15_000)) * time.Millisecond
	const limit = 1 << 20
	g, mock := scenario.Single(t, fmt.Sprintf("limits: {body: %d, buffered: %d, body_pause: %s}", limit, 8*limit, pause))
	ann, bob := scenario.Register(t, g, "ann@example.com"), scenario.Register(t, g, "bob@example.com")
	hers, his := ann.Key(t).Text, bob.Key(t).Text

	const n = 400 // more bodies than fit in memory
	began := time.Now()
	var given, refused, last atomic.Int64
	scenario.Together(n, n, func(i int) {
		conn, in := rawPost(t, g, hers, limit)
		if i%2 == 0 { // half of them have sent part of the body
			_, _ = io.WriteString(conn, `{"model":`)
		}
		a, err := readAnswer(in)
		if err != nil {
			t.Errorf("read the response to an unfinished body: %v", err)
			return
		}
		if _, err := in.ReadByte(); err == nil {
			t.Error("the connection of an unfinished body stayed open")
		}
		if a.Status == http.StatusServiceUnavailable { // the gateway rejected the request for lack of memory
			scenario.WantError(t, "a body above the memory limit", a, http.StatusServiceUnavailable, "OVERLOADED")
			if took := time.Since(began); size.Strict() && took > pause/2 {
				t.Errorf("a body above the memory limit was rejected after %s, want at most %s", took, pause/2)
			}
			refused.Add(1)
			return
		}
		scenario.WantError(t, "an unfinished body", a, http.StatusBadRequest, "INVALID_REQUEST")
		given.Add(1)
		last.Store(max(last.Load(), int64(time.Since(began))))
	})
	if took := time.Duration(last.Load()); took > pause+size.Limit(time.Second) {
		t.Errorf("unfinished bodies timed out after %s, want at most %s", took, pause+size.Limit(time.Second))
	}
	if given.Load() < 40 {
		t.Errorf("%d of %d unfinished bodies timed out, want at least 40; the others were rejected", given.Load(), n)
	}

	// The incomplete bodies of one client use at most half of the memory for bodies, so another client's body still fits.
	full := bytes.Repeat([]byte(" "), limit)
	copy(full, scenario.Chat("m"))
	var held atomic.Int64
	ctx, release := context.WithCancel(t.Context())
	holders := make(chan struct{}, 12)
	for range cap(holders) {
		go func() {
			defer func() { holders <- struct{}{} }()
			hold(ctx, g, hers, full, &held)
		}()
	}
	harness.Eventually(t, "bodies are held", func() bool { return held.Load() >= 3 })
	if a := g.Call(t, harness.Request{Key: his, Body: string(full)}); a.Status != http.StatusOK {
		t.Errorf("request of another workspace while %d bodies are held: status %d, want 200: %s",
			held.Load(), a.Status, scenario.Clip(a.Body))
	}
	if h := held.Load(); h > 4 {
		t.Errorf("one workspace holds %d bodies, want at most 4 of the 8 that fit in memory", h)
	}
	release()
	for range cap(holders) {
		<-holders
	}

	// A client that sends its body slowly is served.
	body := scenario.Chat("m")
	conn, in := rawPost(t, g, hers, int64(len(body)))
	for piece := range strings.SplitAfterSeq(body, ",") {
		time.Sleep(pause * 6 / 10) // the slowness is under test
		_, _ = io.WriteString(conn, piece)
	}
	if a, err := readAnswer(in); err != nil || a.Status != http.StatusOK {
		t.Errorf("request with a body sent in pieces: status %d (%v), want 200", a.Status, err)
	}
	if calls := len(mock.Calls()); calls != 2 {
		t.Errorf("%d calls reached the provider, want 2", calls)
	}
	return fmt.Sprintf("of %d unfinished bodies %d closed within %s, %d rejected immediately; one workspace held %d of 8 slots, another was served", n, given.Load(),
		time.Duration(last.Load()).Round(10*time.Millisecond), refused.Load(), held.Load())
}

// hold sends all but the last byte of a body. After most of the body, it sends small pieces until ctx is done. held counts the bodies that
// the gateway holds in memory.
func hold(ctx context.Context, g *harness.Gateway, key string, body []byte, held *atomic.Int64) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL(), "http://"))
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = fmt.Fprintf(conn, "POST /proxy/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", key, len(body))
	_, _ = conn.Write(body[:len(body)-100])
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = readAnswer(bufio.NewReader(conn)) // the request is rejected, or the connection is closed at the end of the case
	}()
	select {
	case <-answered:
		return
	case <-ctx.Done():
		return
	case <-time.After(200 * time.Millisecond): // a held body cannot be observed from outside
	}
	held.Add(1)
	for i := range 99 {
		select {
		case <-ctx.Done():
			return
		case <-answered:
			return
		case <-time.After(100 * time.Millisecond):
			_, _ = conn.Write(body[len(body)-100+i : len(body)-99+i])
		}
	}
}
