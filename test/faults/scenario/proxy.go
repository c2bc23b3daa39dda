package scenario

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// Proxy is a TCP proxy on loopback. It can be switched off, made slow or made silent.
type Proxy struct{ *toxiproxy.Proxy }

// NewProxy starts a proxy to a target. It stops when the test ends. Stop closes its connections and refuses new ones.
func NewProxy(t testing.TB, target string) Proxy {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := Proxy{toxiproxy.NewProxy(server, "proxy", "127.0.0.1:0", target)}
	p.Up(t)
	t.Cleanup(p.Stop)
	return p
}

// Up starts a stopped proxy at its address.
func (p Proxy) Up(t testing.TB) {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
}

// Hang makes the proxy accept connections and data, but return nothing. restore ends the fault.
func (p Proxy) Hang(t testing.TB) (restore func()) {
	t.Helper()
	return p.poison(t, `{"type":"timeout","name":"fault","stream":"downstream","attributes":{"timeout":0}}`)
}

// Slow delays all data from the target. restore ends the fault.
func (p Proxy) Slow(t testing.TB, by time.Duration) (restore func()) {
	t.Helper()
	return p.poison(t, fmt.Sprintf(`{"type":"latency","name":"fault","stream":"downstream","attributes":{"latency":%d}}`, by.Milliseconds()))
}

func (p Proxy) poison(t testing.TB, toxic string) (restore func()) {
	t.Helper()
	if _, err := p.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := p.Toxics.RemoveToxic(context.WithoutCancel(t.Context()), "fault"); err != nil {
			t.Error(err)
		}
	}
}
