package alerts

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAlertsCommands(t *testing.T) {
	t.Parallel()
	var received http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { received = r.Header }))
	t.Cleanup(server.Close)
	l := clitest.New(t, New)
	_, err := l.Run(cli.ExitOK, "alerts", "list")
	clitest.MustContain(t, err, "no alert rules yet")
	_, err = l.Run(cli.ExitUsage, "alerts", "channels", "add", "ops", "--webhook", server.URL)
	clitest.MustContain(t, err, "loopback")
	l.Console.Env = append(l.Console.Env, "FAIRLEAD_ALLOW_PRIVATE_UPSTREAMS=127.0.0.0/8")
	out, _ := l.Run(cli.ExitOK, "alerts", "channels", "add", "ops", "--webhook", server.URL)
	if !strings.HasPrefix(out, "whsec_") {
		t.Errorf("signing key: %q", out)
	}
	out, _ = l.Run(cli.ExitOK, "alerts", "channels", "list", "--json")
	clitest.MustContain(t, out, `"name":"ops"`, server.URL)
	_, err = l.Run(cli.ExitOK, "alerts", "test", "ops")
	clitest.MustContain(t, err, `sent a test alert through "ops"`)
	if received.Get("Webhook-Signature") == "" {
		t.Errorf("headers %v", received)
	}
	_, err = l.Run(cli.ExitOK, "alerts", "add", "error_rate", "--threshold", "2.5", "--window", "1h", "--channel", "ops")
	clitest.MustContain(t, err, `added "Error rate"`, "≥ 2.5 %")
	_, err = l.Run(cli.ExitUsage, "alerts", "add", "weather")
	clitest.MustContain(t, err, "unknown kind", "error_rate")
	_, err = l.Run(cli.ExitUsage, "alerts", "add", "error_rate", "--window", "month")
	clitest.MustContain(t, err, "15m")
	out, _ = l.Run(cli.ExitOK, "alerts", "list")
	clitest.MustContain(t, out, "Error rate", "unknown", "≥ 2.5 %", "1h")
	_, err = l.Run(cli.ExitOK, "alerts", "mute", "Error rate", "--for", "2h")
	clitest.MustContain(t, err, "muted")
	out, _ = l.Run(cli.ExitOK, "alerts", "show", "Error rate")
	clitest.MustContain(t, out, "muted until", "error_rate ≥ 2.5 % 1h")
	out, _ = l.Run(cli.ExitOK, "alerts", "history")
	clitest.MustContain(t, out, "Test of ops", "ops delivered")
	_, err = l.Run(cli.ExitOK, "alerts", "remove", "Error rate", "--yes")
	clitest.MustContain(t, err, "deleted")
	_, err = l.Run(cli.ExitFailed, "alerts", "show", "Error rate")
	clitest.MustContain(t, err, "not found")
	_, _ = l.Run(cli.ExitOK, "alerts", "channels", "remove", "ops", "--yes")
}
