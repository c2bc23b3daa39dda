package doctor

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"time"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/server"
	"fairlead.dev/internal/otlp"
)

const (
	telemetryCheck = "telemetry"
	collectorTime  = 3 * time.Second
)

// telemetry checks that the addresses of the telemetry collector accept connections. It sends no telemetry.
func (d *doctor) telemetry(ctx context.Context) []finding {
	c := d.loaded.Config.Telemetry
	settings, err := otlp.Resolve(c, d.console.Getenv)
	if err != nil {
		return []finding{{telemetryCheck, broken, err.Error(), "correct the variable"}}
	}
	addresses := []string{}
	add := func(exported bool, own string) {
		for _, address := range []string{c.Endpoint, d.console.Getenv(own), d.console.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")} {
			if exported && address != "" {
				if !slices.Contains(addresses, address) {
					addresses = append(addresses, address)
				}
				return
			}
		}
	}
	add(settings.Traces, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	add(settings.Metrics, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")
	found := []finding{}
	for _, address := range addresses {
		found = append(found, collector(ctx, address))
	}
	return found
}

// collector checks that the host of an address accepts connections. It only warns about a collector that does not respond, because requests
// do not depend on it.
func collector(ctx context.Context, address string) finding {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return finding{telemetryCheck, broken, "the address of the collector is not a URL", "set telemetry.endpoint to a URL such as http://localhost:4318"}
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	ctx, cancel := context.WithTimeout(ctx, collectorTime)
	defer cancel()
	began := time.Now()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return finding{telemetryCheck, doubt, fmt.Sprintf("the collector at %s does not respond, so traces and metrics are dropped: %v", u.Redacted(), server.UnwrapNet(err)), "start the collector, or correct telemetry.endpoint; check address, port and firewall"}
	}
	_ = conn.Close() // the error is ignored: nothing was sent
	return finding{telemetryCheck, fine, fmt.Sprintf("the collector at %s accepts connections in %s", u.Redacted(), cli.Duration(time.Since(began))), ""}
}
