package egress

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// testNetwork is an HTTP/2 server with in-memory connections that can be cut silently: no more data arrives, and neither side
// gets an error.
type testNetwork struct {
	incoming chan net.Conn
	mu       sync.Mutex
	conns    []*cuttableConn
}

type cuttableConn struct {
	net.Conn
	cut    chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (c *cuttableConn) Write(p []byte) (int, error) {
	select {
	case <-c.cut:
		return len(p), nil // succeeds like a write to the kernel's buffer
	default:
		return c.Conn.Write(p)
	}
}

func (c *cuttableConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	select {
	case <-c.cut:
		<-c.closed
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

func (c *cuttableConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func (n *testNetwork) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	c := &cuttableConn{Conn: here, cut: make(chan struct{}), closed: make(chan struct{})}
	n.mu.Lock()
	n.conns = append(n.conns, c)
	n.mu.Unlock()
	select {
	case n.incoming <- there:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// cut cuts all open connections.
func (n *testNetwork) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		close(c.cut)
	}
	n.conns = nil
}

func (n *testNetwork) Accept() (net.Conn, error) {
	c, ok := <-n.incoming
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (n *testNetwork) Close() error   { return nil }
func (n *testNetwork) Addr() net.Addr { return &net.TCPAddr{} }

// newHTTP2Network serves h over HTTP/2 until the returned function is called.
func newHTTP2Network(t *testing.T, h http.Handler) (*testNetwork, *transport, func()) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"provider.test"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)

	n := &testNetwork{incoming: make(chan net.Conn)}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, TLSConfig: &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.ServeTLS(n, "", "")
	}()
	o := Options{RootCAs: roots}
	tr := newTransport(o, &dialer{timeout: connectTimeout(o)})
	tr.settings.DialContext = watched(n.dial)
	return n, tr, func() {
		time.Sleep(2 * pingTimeout) // pings without a reply close the connections that were cut
		tr.CloseIdleConnections()
		close(n.incoming)
		_ = server.Close()
		<-done
	}
}

func get(t *testing.T, tr *transport) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://provider.test/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return tr.RoundTrip(req)
}

// Cutting an HTTP/2 connection silently fails only the calls on it, within a few seconds and not all at the same time. Later
// calls use a new connection.
func TestCutHTTP2ConnectionIsAbandonedWithinSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const every, cutAt, calls = 40 * time.Millisecond, 5 * time.Second, 375
		n, tr, stop := newHTTP2Network(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(50 * time.Millisecond):
			case <-r.Context().Done():
			}
		}))
		began := time.Now()
		time.AfterFunc(cutAt, n.cut)
		type outcome struct {
			began, took time.Duration
			err         error
		}
		outcomes := make([]outcome, calls)
		var wg sync.WaitGroup
		for i := range calls {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * every)
				start := time.Now()
				resp, err := get(t, tr)
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
				outcomes[i] = outcome{start.Sub(began), time.Since(start), err}
			})
		}
		wg.Wait()

		failed, together := 0, map[time.Duration]int{}
		for _, o := range outcomes {
			if o.err == nil {
				continue
			}
			failed++
			together[(o.began+o.took)/(100*time.Millisecond)]++
			if !errors.Is(o.err, errStalled) || o.took > 6*time.Second || o.began > cutAt+6*time.Second {
				t.Errorf("the call at %s failed after %s: %v", o.began, o.took, o.err)
			}
		}
		if failed == 0 || failed > int(6*time.Second/every) {
			t.Errorf("%d of %d calls failed", failed, calls)
		}
		for at, k := range together {
			if k > failed/4 {
				t.Errorf("%d of %d failures in the same tenth of a second, at %s", k, failed, at*100*time.Millisecond)
			}
		}
		t.Logf("%d of %d calls failed", failed, calls)
		stop()
	})
}

func TestStalledHTTP2StreamFailsAndSilentOneDoesNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, tr, stop := newHTTP2Network(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "one")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}))
		resp, err := get(t, tr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(resp.Body, make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		time.AfterFunc(2*time.Minute, n.cut) // a stream may be silent for longer than the limit while pings get replies
		_, err = resp.Body.Read(make([]byte, 1))
		if took := time.Since(began); !errors.Is(err, errStalled) || took < 2*time.Minute || took > 2*time.Minute+2*stallAfter {
			t.Errorf("after %s: %v", took, err)
		}
		_ = resp.Body.Close()
		stop()
	})
}
