package blackbox

import (
	"encoding/json"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

func TestStartsWithoutConfigurationAndData(t *testing.T) {
	t.Parallel()
	began := time.Now()
	g := harness.Start(t, harness.Options{})
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("ready after %s, want at most 5 s", took)
	}

	key := g.Key(t)
	answer := wantOK(t, g.Call(t, harness.Request{Key: key, Body: scenario.Chat("auto", `"max_tokens":5`)}))

	if answer.Header.Get("X-Fairlead-Simulated") != "true" || answer.Header.Get("X-Fairlead-Provider") != "simulator" {
		t.Errorf("headers are %v, want X-Fairlead-Simulated true and the provider simulator", answer.Header)
	}
	for line := range strings.Lines(g.Log()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("a log line is not JSON: %s", line)
		}
	}
	if strings.Contains(g.Log(), key) {
		t.Error("the log contains a complete key")
	}
	info, err := os.Stat(g.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o700 {
		t.Errorf("the mode of the data directory is %v, want 0700", mode)
	}
}

func TestBannerIsPrintedOnlyOnATerminal(t *testing.T) {
	t.Parallel()
	const secret = "sk-canary-terminal-77f3Qa"
	_, url := harness.Upstream(t)
	g := harness.Start(t, harness.Options{
		Terminal: true, Listen: "0.0.0.0:0",
		Env: []string{"FAIRLEAD_DETECT=true", "OPENAI_API_KEY=" + secret, "OPENAI_BASE_URL=" + url},
	})

	want := []string{
		`^fairlead \S+ \(linux/\w+, go1\.\S+\)$`,
		`^  config     none – using defaults and environment$`,
		`^  data       \S+/fairlead\.db \(new\)$`,
		`^  providers  openai \(OPENAI_API_KEY …f3Qa, \d+ models\)`,
		`^  policies   0 – routing by score only +baseline  none, so costs are shown without savings$`,
		`^  API        http://127\.0\.0\.1:\d+/proxy/v1$`,
		`^  dashboard  http://127\.0\.0\.1:\d+`,
		`^  setup      http://\S+/welcome#[0-9A-Z]{4}(-[0-9A-Z]{4}){3}   first account, valid 1 h   \(or: fairlead admin create\)$`,
		`^ready in \d+ ms$`,
	}
	lines := strings.Split(g.Log(), "\n")
	for _, pattern := range want {
		if !matches(lines, pattern) {
			t.Errorf("no line matches %s\n%s", pattern, g.Log())
		}
	}
	for _, never := range []string{"0.0.0.0", "[::]", secret} {
		if strings.Contains(g.Log(), never) {
			t.Errorf("the start-up text shows %q\n%s", never, g.Log())
		}
	}
}

func matches(lines []string, pattern string) bool {
	return slices.ContainsFunc(lines, regexp.MustCompile(pattern).MatchString)
}

func TestLoggedAddressesAreReachable(t *testing.T) {
	t.Parallel()
	g := harness.Start(t, harness.Options{Listen: "0.0.0.0:0"})
	var logged struct{ API, Dashboard, Setup string }
	harness.Eventually(t, "the log has the addresses of the API, the dashboard and the setup page", func() bool {
		for line := range strings.Lines(g.Log()) {
			harness.Decode(t, []byte(line), &logged) // a line without an address leaves the fields unchanged
		}
		return logged.API != "" && logged.Dashboard != "" && logged.Setup != ""
	})
	for name, text := range map[string]string{"API": logged.API, "dashboard": logged.Dashboard, "setup": logged.Setup} {
		if strings.Contains(text, "0.0.0.0") || strings.Contains(text, "[::]") {
			t.Errorf("%s: the log has the address %q, which a client cannot open", name, text)
		}
		address, err := url.Parse(strings.Fields(text)[0]) // a comment follows the address
		if err != nil {
			t.Fatal(err)
		}
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address.Host)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = conn.Close()
	}
}

func TestOneServerPerDataDirectory(t *testing.T) {
	t.Parallel()
	g := harness.Start(t, harness.Options{})

	_, stderr, code := harness.CLI(t, harness.Options{DataDir: g.DataDir}, "serve", "--listen", "127.0.0.1:0")

	if code != 1 || !strings.Contains(stderr, "another fairlead server uses this data directory") || !strings.Contains(stderr, "fix: ") {
		t.Errorf("second server: exit code %d, want 1 and an error with a fix\n%s", code, stderr)
	}
	wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: "/readyz"}))
}

func TestWrongMasterKeyIsRejected(t *testing.T) {
	t.Parallel()
	g := harness.Start(t, harness.Options{})
	g.Key(t)
	g.Stop(t)
	if err := os.Remove(filepath.Join(g.DataDir, "master.key")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"keys", "list"}} {
		_, stderr, code := harness.CLI(t, harness.Options{DataDir: g.DataDir}, args...)
		if code != 1 || !strings.Contains(stderr, "another master key") || !strings.Contains(stderr, "fix: restore master.key from a backup") {
			t.Errorf("%v without the master key: exit code %d, want 1 and an error with a fix\n%s", args, code, stderr)
		}
	}
}

func TestSpoolDamageIsReported(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	key := g.Key(t)
	for range 2 {
		wantOK(t, g.Call(t, harness.Request{Key: key, Body: scenario.Chat(small)}))
	}
	g.Kill(t)
	segments, err := filepath.Glob(filepath.Join(g.DataDir, "spool", "*.log"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("the spool has %d segments (%v), want at least 1", len(segments), err)
	}
	text, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/3] ^= 0xff
	if err := os.WriteFile(segments[0], text, 0o600); err != nil {
		t.Fatal(err)
	}

	g.Restart(t)

	if !strings.Contains(g.Log(), "skipped corrupt records") {
		t.Errorf("the log does not report the corrupt records\n%s", g.Log())
	}
}

func TestPortInUseIsReported(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	address := listener.Addr().String()

	_, stderr, code := harness.CLI(t, harness.Options{}, "serve", "--listen", address)

	if code != 1 || !strings.Contains(stderr, address) || !strings.Contains(stderr, "in use") || !strings.Contains(stderr, "fix: ") {
		t.Errorf("serve on a port in use: exit code %d, want 1 and an error with the address and a fix\n%s", code, stderr)
	}
}

func TestConfigurationErrorsIncludeTheirPosition(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	_, stderr, code := harness.CLI(t, harness.Options{Config: "default_model: small\nproviderz: []\n", DataDir: dir}, "serve", "--listen", "127.0.0.1:0")
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	for _, want := range []string{"line 2", "   2 | providerz: []", "^^^^^^^^^", `did you mean "providers"?`, "fix: ", "[E1004]"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, stderr)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the data directory was created for an invalid configuration")
	}
}
