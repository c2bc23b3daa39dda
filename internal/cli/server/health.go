package server

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

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
)

// healthTime is the timeout of the readiness request.
const healthTime = 5 * time.Second

// Readiness is the response body of /readyz.
type Readiness struct {
	Status string `json:"status"`
	Checks []struct {
		Name string `json:"name"`
		OK   bool   `json:"ok"`
		Note string `json:"note,omitempty"`
	} `json:"checks"`
}

// NewHealth returns the command "health".
func NewHealth(c *cli.Console, o *cli.Options) *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use: "health", Short: "Check whether a running server is ready", Args: cli.NoArgs,
		Long: "Check whether a running server is ready to serve requests. The exit code is 0 when it is ready and 1 otherwise.",
		Example: `  fairlead health
  fairlead health --url http://127.0.0.1:8080`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			own := address == ""
			if own {
				address = instance.OwnURL(c, o)
			}
			u, err := ParseAddress(address)
			if err != nil {
				return err
			}
			status, state, err := AskReady(cmd.Context(), u, own)
			if err != nil {
				return err
			}
			text := state.String()
			if o.JSON {
				err = c.PrintJSON(state)
			} else {
				err = c.Print(cli.Clean(text) + "\n")
			}
			if err == nil && status != http.StatusOK {
				return &cli.ReportedError{Err: errors.New(text)}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&address, "url", "", "address of the server (default: the configured address, http://127.0.0.1:8080)")
	return cmd
}

// ParseAddress parses the value of --url.
func ParseAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, cli.Usagef("write it as http://127.0.0.1:8080", "--url: %q is not an http or https URL", address)
	}
	return u, nil
}

// AskReady requests the readiness of a server. own is true for a server with this configuration on this machine.
func AskReady(ctx context.Context, u *url.URL, own bool) (status int, state Readiness, err error) {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("/readyz").String(), nil)
	if err != nil {
		return 0, state, err
	}
	// The certificate is issued for the server's public name, so it cannot be verified for a request to loopback.
	ip, _ := netip.ParseAddr(u.Hostname()) // the error is ignored: a host name gives the zero address, which is not loopback
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: own && ip.IsLoopback()}}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0, state, cli.WithFix(fmt.Errorf("no server at %s: %w", u.Redacted(), UnwrapNet(err)), "start it with  fairlead serve,  or set its address with --url")
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return 0, state, fmt.Errorf("read the response: %w", err)
	}
	if err := json.Unmarshal(body, &state); err != nil || state.Status == "" {
		return 0, state, fmt.Errorf("%s returned status %d, but is not a Fairlead server", u.Redacted(), resp.StatusCode)
	}
	return resp.StatusCode, state, nil
}

// UnwrapNet removes the parts of a network error that repeat the address.
func UnwrapNet(err error) error {
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e.Err
	}
	return err
}

// String describes the state in one line and lists failed checks.
func (r Readiness) String() string {
	var bad []string
	for _, check := range r.Checks {
		if !check.OK {
			bad = append(bad, strings.TrimSuffix(check.Name+": "+check.Note, ": "))
		}
	}
	return strings.TrimSuffix(r.Status+" – "+strings.Join(bad, ", "), " – ")
}
