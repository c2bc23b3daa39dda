package harness

import (
	"net"
	"sync"
	"testing"
)

// Forward is a TCP proxy that can be switched on and off. While it is off, the service behind the proxy is unavailable to a gateway
// that uses the address of the proxy.
type Forward struct {
	address string
	target  string

	mu       sync.Mutex
	listener net.Listener
	open     map[net.Conn]struct{}
	stalled  map[net.Conn]struct{}
	running  sync.WaitGroup
}

// NewForward reserves a loopback address that forwards to target after Up is called. It stops when the test ends.
func NewForward(t testing.TB, target string) *Forward {
	t.Helper()
	f := &Forward{address: FreeAddress(t), target: target, open: map[net.Conn]struct{}{}, stalled: map[net.Conn]struct{}{}}
	t.Cleanup(f.Down)
	return f
}

// Address returns the address of the proxy.
func (f *Forward) Address() string { return f.address }

// Up starts accepting connections.
func (f *Forward) Up(t testing.TB) {
	t.Helper()
	listener, err := net.Listen("tcp", f.address)
	if err != nil {
		t.Fatalf("listen for the forward: %v", err)
	}
	f.mu.Lock()
	f.listener = listener
	f.mu.Unlock()
	f.running.Go(func() { f.accept(listener) })
}

// Down refuses new connections and closes the open ones.
func (f *Forward) Down() {
	f.mu.Lock()
	if f.listener != nil {
		_ = f.listener.Close()
		f.listener = nil
	}
	for conn := range f.open {
		_ = conn.Close()
	}
	f.mu.Unlock()
	f.running.Wait()
}

func (f *Forward) accept(listener net.Listener) {
	for {
		near, err := listener.Accept()
		if err != nil {
			return // the proxy is down
		}
		far, err := net.Dial("tcp", f.target)
		if err != nil {
			_ = near.Close()
			continue
		}
		if !f.keep(listener, near, far) {
			continue
		}
		for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
			f.running.Go(func() {
				f.carry(pair[0], pair[1]) // one connection is closed, so close the other one
				_ = pair[0].Close()
				_ = pair[1].Close()
				f.forget(pair[0])
			})
		}
	}
}

// keep records connections for Down. It closes a connection if Down was called first.
func (f *Forward) keep(listener net.Listener, conns ...net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, conn := range conns {
		if f.listener != listener {
			_ = conn.Close()
			continue
		}
		f.open[conn] = struct{}{}
	}
	return f.listener == listener
}

// Stall stops forwarding data on the open connections without closing them, like a link that is cut silently. New connections are
// not affected.
func (f *Forward) Stall() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for conn := range f.open {
		f.stalled[conn] = struct{}{}
	}
}

// carry copies data from one connection to the other until either is closed. Data received while the connection is stalled
// is discarded.
func (f *Forward) carry(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		f.mu.Lock()
		_, dropped := f.stalled[from]
		f.mu.Unlock()
		if dropped {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (f *Forward) forget(conn net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, conn)
	delete(f.stalled, conn)
}
