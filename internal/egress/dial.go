package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// dialer opens connections after the guard has checked the resolved address.
type dialer struct {
	guard    guard
	timeout  time.Duration
	resolver *net.Resolver
}

// dial connects to "host:port". The guard runs in the control hook, after name resolution and before connecting, for each address
// that is tried, so a name that resolves to another address later is checked again.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	requested := normalHost(address)
	nd := net.Dialer{
		Timeout:  d.timeout,
		Resolver: d.resolver,
		KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount,
		},
		ControlContext: func(_ context.Context, network, resolved string, conn syscall.RawConn) error {
			if network != "tcp" && network != "tcp4" && network != "tcp6" {
				return fmt.Errorf("network %q is not TCP", network)
			}
			to, err := netip.ParseAddrPort(resolved)
			if err != nil {
				return fmt.Errorf("parse resolved address %q: %w", resolved, err)
			}
			if err := d.guard.check(requested, to.Addr()); err != nil {
				return err
			}
			return setUserTimeout(conn)
		},
	}
	return nd.DialContext(ctx, network, address)
}
