package store

import (
	"errors"
	"net"
	"strconv"
	"testing"
	"time"
)

// hung is a server that accepts every connection and never says a word.
func hung(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var open []net.Conn
		for {
			conn, err := listener.Accept()
			if err != nil {
				break
			}
			open = append(open, conn)
		}
		for _, conn := range open {
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return listener.Addr().String()
}

func TestHungServerIsGivenUpWhenConnecting(t *testing.T) {
	t.Parallel()
	db := connectTo(t, "postgres://fairlead@"+hung(t)+"/x?sslmode=disable&connect_timeout=1", "")
	began := time.Now()
	err := db.Ping(t.Context()) // Without a limit of its caller's
	if err == nil || !Unreachable(err) || time.Since(began) > 10*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}

func TestSilentConnectionIsGivenUp(t *testing.T) {
	t.Parallel()
	db := connectTo(t, "postgres://fairlead@"+hung(t)+"/x?sslmode=disable", "")
	db.silence.Store(int64(50 * time.Millisecond))
	conn, err := db.dial(t.Context(), "tcp", net.JoinHostPort(db.connection.Host, strconv.Itoa(int(db.connection.Port))))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, err = conn.Read(make([]byte, 1))
	if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
		t.Errorf("reading ended with %v, want a time-out", err)
	}
	db.silence.Store(int64(time.Hour))
	if err := conn.SetDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err = conn.Read(make([]byte, 1)); err == nil {
		t.Error("a deadline that has passed is not obeyed")
	}
}
