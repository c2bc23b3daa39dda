package sqldb

import (
	"errors"
	"net"
	"strconv"
	"testing"
	"time"
)

// hung returns the address of a server that accepts connections but never responds.
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

func TestConnectingToHungServerTimesOut(t *testing.T) {
	t.Parallel()
	db := connectTo(t, "postgres://fairlead@"+hung(t)+"/x?sslmode=disable&connect_timeout=1", "")
	began := time.Now()
	err := db.Ping(t.Context()) // the context has no deadline
	if err == nil || time.Since(began) > 10*time.Second {
		t.Errorf("connect returned after %s: %v; want a timeout within 10 s", time.Since(began), err)
	}
}

func TestReadFromHungServerTimesOut(t *testing.T) {
	t.Parallel()
	db := connectTo(t, "postgres://fairlead@"+hung(t)+"/x?sslmode=disable", "")
	db.readTimeout.Store(int64(50 * time.Millisecond))
	conn, err := db.dial(t.Context(), "tcp", net.JoinHostPort(db.connConfig.Host, strconv.Itoa(int(db.connConfig.Port))))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, err = conn.Read(make([]byte, 1))
	if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
		t.Errorf("Read: %v, want a timeout", err)
	}
	db.readTimeout.Store(int64(time.Hour))
	if err := conn.SetDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err = conn.Read(make([]byte, 1)); err == nil {
		t.Error("Read with an expired deadline returned no error")
	}
}
