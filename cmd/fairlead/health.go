package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead/internal/config"
)

// healthTime bounds the question whether a server is ready.
const healthTime = 5 * time.Second

// readiness is what /readyz answers.
type readiness struct {
	Status string `json:"status"`
	Checks []struct {
		Name string `json:"name"`
		OK   bool   `json:"ok"`
		Note string `json:"note,omitempty"`
	} `json:"checks"`
}

func newHealth(c *console, o *options) *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use: "health", Short: "Ask a running server whether it would serve a request now", Args: noArgs,
		Long: "Ask a running server whether it would serve a request now: exit code 0 or 1. Without --url it asks the address that the configuration listens on.",
		Example: `  fairlead health
  fairlead health --url http://127.0.0.1:8080`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			own := address == ""
			if own {
				address = o.ownURL(c)
			}
			u, err := parseAddress(address)
			if err != nil {
				return err
			}
			return askHealth(cmd.Context(), c, o, u, own)
		},
	}
	cmd.Flags().StringVar(&address, "url", "", "address of the server (default the configured one, http://127.0.0.1:8080)")
	return cmd
}

// parseAddress reads what --url says.
func parseAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, usage("write it as http://127.0.0.1:8080", "--url: %q is not an address", address)
	}
	return u, nil
}

// ownURL is where a server with this configuration is found on the machine itself. Whether the configuration is in
// order is the matter of another command: a server that runs has refused what is not, and goes on.
func (o *options) ownURL(c *console) string {
	loaded, err := o.load(c, o.flags())
	if err != nil {
		c.say(o, "warning: the configuration has problems; see  fairlead config check")
		return listenURL(config.Readable(o.sources(c, o.flags())))
	}
	return listenURL(loaded.Config)
}

func askHealth(ctx context.Context, c *console, o *options, u *url.URL, own bool) error {
	status, state, err := askReady(ctx, u, own)
	if err != nil {
		return err
	}
	return tellHealth(c, o, status, state)
}

// askReady asks a server whether it is ready; own says that it is the one of this machine and configuration.
func askReady(ctx context.Context, u *url.URL, own bool) (status int, state readiness, err error) {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("/readyz").String(), nil)
	if err != nil {
		return 0, state, err
	}
	// The certificate of our own listener is made for its public name, not for loopback.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: own && isLoopback(u)}}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0, state, withFix(fmt.Errorf("nothing answers at %s: %w", u.Redacted(), unwrapNet(err)), "start it with  fairlead serve,  or name its address with --url")
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return 0, state, fmt.Errorf("read the answer: %w", err)
	}
	if err := json.Unmarshal(body, &state); err != nil || state.Status == "" {
		return 0, state, fmt.Errorf("%s answers with status %d, but not as fairlead does", u.Redacted(), resp.StatusCode)
	}
	return resp.StatusCode, state, nil
}

// unwrapNet leaves out the parts of a network error that repeat the address.
func unwrapNet(err error) error {
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e.Err
	}
	return err
}

func tellHealth(c *console, o *options, status int, state readiness) error {
	ready := status == http.StatusOK
	text := state.String()
	var err error
	if o.json {
		err = c.writeJSON(state)
	} else {
		err = c.write(clean(text) + "\n")
	}
	if err == nil && !ready {
		return &shownError{errors.New(text)}
	}
	return err
}

// String is the state in one line, with the checks that failed.
func (r readiness) String() string {
	var bad []string
	for _, check := range r.Checks {
		if !check.OK {
			bad = append(bad, strings.TrimSuffix(check.Name+": "+check.Note, ": "))
		}
	}
	return strings.TrimSuffix(r.Status+" – "+strings.Join(bad, ", "), " – ")
}

func isLoopback(u *url.URL) bool {
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.IsLoopback()
}

// listenURL is the address to open on the machine itself: a wildcard becomes loopback.
func listenURL(c config.Config) string {
	scheme := "http"
	if c.TLS.Cert != "" {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return scheme + "://" + c.Listen
	}
	if ip, err := netip.ParseAddr(host); host == "" || (err == nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// baseURL is where clients find the gateway.
func baseURL(c config.Config) string {
	if c.PublicURL != "" {
		return strings.TrimSuffix(c.PublicURL, "/")
	}
	return listenURL(c)
}
