//go:build unix

package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
)

// streaming is a call whose host has sent the first of its words, sends what it is told to, and breaks off.
func streaming(ctx context.Context, t *testing.T) (b *body, say chan<- string, breakOff func()) {
	t.Helper()
	words := make(chan string)
	breakOff = sync.OnceFunc(func() { close(words) })
	url, _ := script(t, func(conn net.Conn, _ int64) {
		heard(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
		for word := range words {
			_, _ = io.WriteString(conn, word)
		}
		_ = conn.(*net.TCPConn).SetLinger(0) // so that it is a break, and not an end
		_ = conn.Close()
	})
	t.Cleanup(breakOff)
	client := newClient(t, Options{AllowPrivate: loopback})
	resp, err := client.Do(newRequest(t, url).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	b = resp.Body.(*body)
	expect(t, b, "one")
	return b, words, breakOff
}

func expect(t *testing.T, b *body, word string) {
	t.Helper()
	room := make([]byte, len(word))
	if _, err := io.ReadFull(b, room); err != nil || string(room) != word {
		t.Fatalf("%q comes instead of %q, error %v", room, word, err)
	}
}

func TestAConnectionHasNoBufferWhileNothingComes(t *testing.T) {
	t.Parallel()
	b, say, _ := streaming(t.Context(), t)
	something := true
	err := b.conn.bare.conn.Control(func(fd uintptr) {
		b.conn.leaveRoom()
		something = b.conn.tryRead(fd)
	})
	if err != nil || something || b.conn.room != nil {
		t.Errorf("before anything has come: error %v, something to read %v, buffer %v", err, something, b.conn.room)
	}
	say <- "3\r\ntwo\r\n5\r\nthr"
	b.Wait()
	expect(t, b, "two")
	b.Wait() // for nothing: a part of the next is there
	expect(t, b, "thr")
	say <- "ee\r\n0\r\n\r\n"
	b.Wait()
	if rest, err := io.ReadAll(b); string(rest) != "ee" || err != nil {
		t.Errorf("the rest is %q, error %v", rest, err)
	}
	if b.conn.room != nil {
		t.Error("a connection that carries no call has a buffer")
	}
}

func TestACallThatIsGivenUpIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b, _, _ := streaming(ctx, t)
	go cancel()
	b.Wait()
	if _, err := b.Read(make([]byte, 100)); !errors.Is(err, context.Canceled) {
		t.Errorf("reading on: %v", err)
	}
}

func TestAConnectionThatBreaksWhileItIsWaitedForHasNoEnd(t *testing.T) {
	t.Parallel()
	b, _, breakOff := streaming(t.Context(), t)
	breakOff()
	b.Wait()
	if _, err := b.Read(make([]byte, 100)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("reading on: %v", err)
	}
}
