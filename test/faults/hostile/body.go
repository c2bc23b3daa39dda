// Package hostile holds the fault cases about hostile input, slow clients, secrets and the release.
package hostile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
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

// rawPost opens a connection and sends the head of a request with a body of the given length.
func rawPost(t testing.TB, g *harness.Gateway, key string, length int64) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(60 * time.Second)); err != nil {
		t.Fatal(err)
	}
	size := fmt.Sprintf("Content-Length: %d", length)
	if length < 0 {
		size = "Transfer-Encoding: chunked"
	}
	if _, err := fmt.Fprintf(conn, "POST /proxy/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\n%s\r\n\r\n", key, size); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

func readAnswer(r *bufio.Reader) (harness.Answer, error) {
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return harness.Answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return harness.Answer{Status: resp.StatusCode, Header: resp.Header, Body: body}, err
}

// LargeBodies is fault case F42: a body above the limit is rejected unread, and the total memory of all bodies is limited.
func LargeBodies(t *testing.T, size scenario.Size) string {
	limit, all, n := int64(size.Of(1, 32))<<20, int64(size.Of(8, 512))<<20, size.Of(30, 200)
	g, mock := scenario.Single(t, fmt.Sprintf("limits: {body: %d, buffered: %d}", limit, all))
	k := g.Key(t)

	conn, in := rawPost(t, g, k, limit+(1<<20))
	answer, err := readAnswer(in) // the head is sent without any byte of the body
	if err != nil {
		t.Fatalf("read the response to the head of a large body: %v", err)
	}
	scenario.WantError(t, "a length above the limit", answer, http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE")
	_ = conn.Close()

	conn, in = rawPost(t, g, k, -1)
	piece := strings.Repeat("a", 1<<16)
	for sent := int64(0); sent < 4*limit; sent += int64(len(piece)) {
		if _, err := fmt.Fprintf(conn, "%x\r\n%s\r\n", len(piece), piece); err != nil {
			break // the gateway has stopped reading
		}
	}
	if answer, err = readAnswer(in); err == nil { // a connection reset may discard the response that was sent before
		scenario.WantError(t, "an endless body", answer, http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE")
	}

	stop := scenario.WatchMemory(t, g)
	var held, refused atomic.Int64
	body := bytes.Repeat([]byte(" "), int(limit-(limit>>5)))
	scenario.Together(n, n, func(int) {
		conn, in := rawPost(t, g, k, int64(len(body)))
		if a, early := firstAnswer(conn, in, body); early {
			if a.Status != http.StatusServiceUnavailable {
				t.Errorf("body above the memory limit: status %d, want 503: %s", a.Status, scenario.Clip(a.Body))
			}
			refused.Add(1)
			return
		}
		held.Add(1)
	})
	peak := stop()
	if held.Load() == 0 || held.Load()*int64(len(body)) > all || refused.Load() == 0 {
		t.Errorf("%d bodies of %s are held and %d were rejected, want at least 1 of each and at most %s", held.Load(),
			scenario.Mib(int64(len(body))), refused.Load(), scenario.Mib(all))
	}
	if peak > 1<<30 {
		t.Errorf("memory rose to %s, want at most 1 GiB", scenario.Mib(peak))
	}
	if calls := len(mock.Calls()); calls != 0 {
		t.Errorf("%d calls reached the provider, want 0", calls)
	}
	return fmt.Sprintf("413 unread; of %d × %s concurrent, %d held, %d rejected with 503, memory ≤ %s", n, scenario.Mib(int64(len(body))), held.Load(), refused.Load(), scenario.Mib(peak))
}

// firstAnswer sends all but the last byte of a body, so that the gateway holds the body. It returns a response that
// arrives before the end of the body.
func firstAnswer(conn net.Conn, in *bufio.Reader, body []byte) (a harness.Answer, early bool) {
	answered := make(chan harness.Answer, 1)
	go func() {
		a, err := readAnswer(in)
		if err != nil {
			a.Status = 0
		}
		answered <- a
	}()
	_, _ = conn.Write(body[:len(body)-1]) // a rejection may close the connection
	select {
	case a := <-answered:
		return a, a.Status != 0
	case <-time.After(500 * time.Millisecond): // a held body cannot be observed from outside
		return harness.Answer{}, false
	}
}

// Bombs is fault case F43: compressed data is expanded up to the body limit in requests and not at all in responses.
func Bombs(t *testing.T, size scenario.Size) string {
	answerLimit := size.Of(1, 64)
	g, mock := scenario.Single(t, fmt.Sprintf("limits: {answer: %dMiB, body: %dMiB}", answerLimit, size.Of(4, 32)), "breaker: {failures: 100}", "retries: {attempts: 1}")
	k := g.Key(t)
	stop := scenario.WatchMemory(t, g)
	before := scenario.Resident(t, g)

	large := size.Of(16, 256)
	for _, coding := range []string{"gzip", "deflate", "br", "zstd", "gzip, gzip"} {
		a := g.Call(t, harness.Request{Key: k, Body: string(compressed(coding, large)), Header: http.Header{"Content-Encoding": {coding}}})
		if coding == "gzip" || coding == "zstd" { // clients may use these two
			scenario.WantError(t, "a request in "+coding, a, http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE")
		} else {
			scenario.WantError(t, "a request in "+coding, a, http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
		}
	}
	if n := len(mock.Calls()); n != 0 {
		t.Errorf("%d compressed requests reached the provider, want 0", n)
	}
	for _, coding := range []string{"gzip", "deflate", "br", "zstd", "gzip, gzip"} {
		for _, body := range []string{scenario.Chat("m"), scenario.Chat("m", scenario.Streaming)} {
			mock.Then(simulator.Behaviour{Body: compressed(coding, large), Header: map[string]string{"Content-Encoding": coding, "Content-Type": "application/json"}})
			scenario.WantError(t, "a response in "+coding, g.Call(t, harness.Request{Key: k, Body: body}), http.StatusBadGateway, "PROVIDER_UPSTREAM_ERROR")
		}
	}
	bombed := stop() - before
	if bombed > 64<<20 {
		t.Errorf("memory grew by %s with compressed bodies, want at most 64 MiB", scenario.Mib(bombed))
	}
	stop = scenario.WatchMemory(t, g)
	endless := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"`)
		for piece := bytes.Repeat([]byte("x"), 1<<16); ; {
			if _, err := w.Write(piece); err != nil {
				return // the gateway has closed the connection, as expected
			}
		}
	})
	mock.Then(simulator.Behaviour{Handler: endless})
	scenario.WantError(t, "an endless response", g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m")}), http.StatusBadGateway, "PROVIDER_UPSTREAM_ERROR")

	grown := stop() - before
	if allowed := int64(64<<20) + 3*int64(answerLimit)<<20; grown > allowed { // a response is buffered completely, and the buffer doubles
		t.Errorf("memory grew by %s with an endless response, want at most %s", scenario.Mib(grown), scenario.Mib(allowed))
	}
	if a := g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m")}); a.Status != http.StatusOK {
		t.Errorf("request after the endless response: status %d, want 200", a.Status)
	}
	return fmt.Sprintf("rejected in 5 codings both ways, memory %+d MiB; an endless response ended with 502, memory %+d MiB", bombed>>20, grown>>20)
}

// brotliZeros is 256 MiB of zeros, compressed.
const brotliZeros = "z///f/gnAOKxQCD3/p/////wTwDEYQGA7v0/////4Z8AiMMiAN37f/7//8M/ARCHBQC69//8//+HfwIgDgsAdO//+f//D/8EQBwWAOje//P//x/+CYA4LADQvf/n//8//BMAcVgAoHv/z///" +
	"f/gnAOKwAED3/p/////wTwDEYQGA7v0/////4Z8AiMMCAN37f/7//8M/ARCHBQC69//8//+HfwIgDgsAdO//+f//D/8EQBwWAOje//P//x/+CYA4LADQvf/P//9//BMAcVgAoHv/Dw=="

// zstdZeros returns size MiB of zeros as a zstd frame of repeated bytes.
func zstdZeros(size int) []byte {
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58} // a window of 2 MiB, no length, no checksum
	const block = 128 << 10
	for i := range size * (1 << 20) / block {
		header := uint32(block)<<3 | 1<<1 // block type: repeat one byte
		if i == size*(1<<20)/block-1 {
			header |= 1 // marks the last block
		}
		frame = append(frame, byte(header), byte(header>>8), byte(header>>16), 0)
	}
	return frame
}

// compressed returns size MiB of zeros in the given coding. The brotli data always has 256 MiB.
func compressed(coding string, size int) []byte {
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip", "gzip, gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "br":
		data, err := base64.StdEncoding.DecodeString(brotliZeros)
		if err != nil {
			panic(err) // unreachable: the data is a constant
		}
		return data
	case "zstd":
		return zstdZeros(size)
	default:
		panic("unknown content coding: " + coding)
	}
	zeros := make([]byte, 1<<20)
	for range size {
		_, _ = w.Write(zeros) // writes to memory never fail
	}
	_ = w.Close()
	return b.Bytes()
}

// JSON is fault case F44: hostile JSON is rejected immediately.
func JSON(t *testing.T, size scenario.Size) string {
	g, mock := scenario.Single(t)
	k := g.Key(t)
	var keys strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&keys, `"k%d":1,`, i)
	}
	const deep = 100_000
	bodies := map[string]string{
		"deep arrays":         scenario.Chat("m", `"x":`+strings.Repeat("[", deep)+strings.Repeat("]", deep)),
		"deep objects":        scenario.Chat("m", `"x":`+strings.Repeat(`{"a":`, deep)+"1"+strings.Repeat("}", deep)),
		"unclosed":            strings.Repeat("[", deep),
		"a million keys":      "{" + keys.String() + `"model":"m"}`,
		"invalid UTF-8":       strings.Replace(scenario.Chat("m"), "Hello", "\xff\xfe", 1),
		"trailing data":       scenario.Chat("m") + " x",
		"two values":          scenario.Chat("m") + scenario.Chat("m"),
		"a repeated key":      scenario.Chat("m", `"messages":[]`),
		"an escaped repeat":   scenario.Chat("m", `"\u006dodel":"other"`),
		"a NUL":               scenario.Chat("m") + "\x00",
		"a byte order mark":   "\ufeff" + scenario.Chat("m"),
		"a comment":           "/* x */" + scenario.Chat("m"),
		"a single quote":      `{'model':'m'}`,
		"an array":            "[" + scenario.Chat("m") + "]",
		"another case of key": scenario.Chat("m", `"Model":"other"`),
	}
	var slowest time.Duration
	for name, body := range bodies {
		best := time.Duration(1 << 62)
		for range 3 {
			began := time.Now()
			a := g.Call(t, harness.Request{Key: k, Body: body})
			best = min(best, time.Since(began))
			if a.Status != http.StatusBadRequest {
				t.Errorf("%s: status %d, want 400: %s", name, a.Status, scenario.Clip(a.Body))
				break
			}
		}
		if slowest = max(slowest, best); best > size.Limit(100*time.Millisecond) {
			t.Errorf("%s was rejected after %s, want at most %s", name, best, size.Limit(100*time.Millisecond))
		}
	}
	if n := len(mock.Calls()); n != 0 {
		t.Errorf("%d invalid requests reached the provider, want 0", n)
	}
	return fmt.Sprintf("%d forms rejected within %s", len(bodies), slowest.Round(time.Millisecond))
}
