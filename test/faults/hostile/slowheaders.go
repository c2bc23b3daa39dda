package hostile

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// SlowHeaders is fault case F41: connections that never finish their headers use few resources, are closed soon, and do not affect
// other clients.
func SlowHeaders(t *testing.T, size scenario.Size) string {
	allowed := time.Duration(size.Of(2, 10)) * time.Second
	n, note := descriptors(t, size.Of(300, 10_000))
	g, _ := scenario.Single(t, fmt.Sprintf("headers: {time: %s}", allowed))
	k := g.Key(t)
	quiet := scenario.Quantile(ordinary(t, g, k, size.Of(50, 300)), 0.99)
	stop := scenario.WatchMemory(t, g)

	var wait sync.WaitGroup
	var mu sync.Mutex
	var longest time.Duration
	conns := make([]net.Conn, n)
	for i := range n {
		conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL(), "http://"))
		if err != nil {
			t.Fatalf("open connection %d: %v", i, err)
		}
		conns[i] = conn
		began := time.Now()
		_ = conn.SetDeadline(began.Add(allowed + 30*time.Second)) // time limit of the case itself
		_, _ = io.WriteString(conn, "POST /proxy/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
		wait.Go(func() {
			_, err := io.Copy(io.Discard, conn)
			mu.Lock()
			defer mu.Unlock()
			if longest = max(longest, time.Since(began)); err != nil && time.Since(began) > allowed+20*time.Second {
				t.Errorf("connection %d was not closed: %v", i, err)
			}
		})
	}
	dripping := make(chan struct{})
	wait.Go(func() { drip(conns, dripping) })
	busy := ordinary(t, g, k, size.Of(50, 300))
	time.AfterFunc(allowed, func() { close(dripping) }) // the bytes sent until then must not extend the time limit
	wait.Wait()
	for _, conn := range conns {
		_ = conn.Close()
	}
	peak, p99 := stop(), scenario.Quantile(busy, 0.99)
	if peak > 512<<20 {
		t.Errorf("memory rose to %s, want at most 512 MiB", scenario.Mib(peak))
	}
	if longest > allowed+2*time.Second {
		t.Errorf("the last connection was closed after %s, want at most %s", longest, allowed+2*time.Second)
	}
	if size == scenario.Full && p99 > 2*quiet+10*time.Millisecond {
		t.Errorf("p99 of other requests is %s during the fault and %s without it", p99, quiet)
	}
	return fmt.Sprintf("%d connections%s, the last cut after %s, memory ≤ %s; others p99 %s (unloaded %s)",
		n, note, longest.Round(10*time.Millisecond), scenario.Mib(peak), p99.Round(time.Millisecond), quiet.Round(time.Millisecond))
}

// drip sends a header byte on each connection every two seconds, one connection after the other, because slow clients are not synchronised.
func drip(conns []net.Conn, done <-chan struct{}) {
	const every, slice = 2 * time.Second, 10 * time.Millisecond
	tick := time.NewTicker(slice)
	defer tick.Stop()
	began := time.Now()
	for sent := 0; ; {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		for due := int(time.Since(began) * time.Duration(len(conns)) / every); sent < due; sent++ {
			_, _ = conns[sent%len(conns)].Write([]byte("x")) // the connection may already be closed
		}
	}
}

// descriptors returns the number of connections that this process may open, at most wanted.
func descriptors(t *testing.T, wanted int) (n int, note string) {
	t.Helper()
	const others = 500
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur >= uint64(wanted+others) {
		return wanted, ""
	}
	return int(limit.Cur) - others, fmt.Sprintf(" (of %d, because %d files may be open)", wanted, limit.Cur)
}

// ordinary sends requests one after the other and returns their durations.
func ordinary(t testing.TB, g *harness.Gateway, key string, n int) []time.Duration {
	t.Helper()
	took := make([]time.Duration, n)
	for i := range took {
		began := time.Now()
		if a := g.Call(t, harness.Request{Key: key, Body: scenario.Chat("m")}); a.Status != http.StatusOK {
			t.Errorf("ordinary request: status %d, want 200: %s", a.Status, scenario.Clip(a.Body))
		}
		took[i] = time.Since(began)
	}
	return took
}
