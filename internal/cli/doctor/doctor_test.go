package doctor

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
	"fairlead.dev/internal/export"
	"fairlead.dev/internal/store"
)

// anyPort makes the doctor listen on a free port.
const anyPort = "FAIRLEAD_LISTEN=127.0.0.1:0"

// examine runs the doctor and returns its findings by check. Several findings of one check are joined with line breaks.
func examine(l *clitest.Lab, want int, args ...string) map[string]string {
	l.T.Helper()
	out, _ := l.Run(want, append([]string{"doctor", "--json"}, args...)...)
	found := map[string]string{}
	for _, line := range clitest.Lines(l.T, out) {
		text := fmt.Sprintf("%s: %s", line["result"], line["message"])
		if fix, ok := line["fix"]; ok {
			text += fmt.Sprintf(" [%s]", fix)
		} else if line["result"] != fine {
			l.T.Errorf("without a fix: %v", line)
		}
		check := line["check"].(string)
		found[check] = strings.TrimPrefix(found[check]+"\n"+text, "\n")
	}
	return found
}

func mustFind(t *testing.T, found, want map[string]string) {
	t.Helper()
	for check, start := range want {
		if !strings.HasPrefix(found[check], start) {
			t.Errorf("%s: %q, want %q", check, found[check], start)
		}
	}
}

func TestDoctorCreatesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Console.Env = append(l.Console.Env, anyPort)
	mustFind(t, examine(l, cli.ExitOK), map[string]string{
		"config": "ok: ", "port": "ok: 127.0.0.1:0 is free", "data": "ok: " + l.Dir + " does not exist yet", "database": "ok: " + l.Dir + "/fairlead.db does not exist yet",
		"provider simulator": "warn: responses are SIMULATED", "clock": "ok: no provider returned",
	})
	if _, err := os.Stat(l.Dir); err == nil {
		t.Error("the doctor created a data directory")
	}
	out, err := l.Run(cli.ExitOK, "doctor")
	clitest.MustContain(t, out, "CHECK               RESULT  FOUND\n", "\nport                ok      127.0.0.1:0 is free", "\n                            fix: set OPENAI_API_KEY")
	clitest.MustContain(t, err, "0 failures, ")
	_, err = l.Run(cli.ExitUsage, "doctor", "--url", "models.example.com")
	clitest.MustContain(t, err, "is not an http or https URL")
}

// A failed check does not hide the results of other checks.
func TestDoctorReportsAllProblems(t *testing.T) {
	t.Parallel()
	l := newLab(t).WithProviders()
	l.Console.Now = time.Now
	l.Console.Env = append(l.Console.Env, anyPort)
	l.Run(cli.ExitOK, "keys", "create", "--name", "ci", "--expires", "2d")
	if err := errors.Join(os.MkdirAll(filepath.Join(l.Dir, "spool"), 0o700), os.WriteFile(filepath.Join(l.Dir, "spool", "rejected-req_1"), []byte(`{"id":"req_1","reason":"invalid byte"}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	found := examine(l, cli.ExitProblems)
	mustFind(t, found, map[string]string{
		"spool":    "fail: the database rejected 1 log entries, most recently req_1: invalid byte [report it as a bug; a restart delivers them again",
		"database": "ok: " + l.Dir + "/fairlead.db responds in ", "data": "ok: " + l.Dir + " is writable",
		"provider good": "ok: responds in ", "provider bad": "fail: status 401: The provider does not accept the gateway's credential: Incorrect API key provided",
		"clock": "ok: within 30.0 s of the clock of ", "prices": "warn: unknown for 1 of 4 models, so auto does not select them: bad/unpriced-model [set them in the dashboard under Models",
		"keys": "warn: 1 of 1 expire within 7 days: ci on ",
	})
	clitest.MustContain(t, found["provider good"], "the key is accepted, lists 2 models")
	clitest.MustContain(t, found["provider bad"], "[replace the key file …9999 with a valid one")
	if _, ok := found["provider resting"]; ok {
		t.Error("a disabled provider was tested")
	}

	if err := os.Chmod(l.Dir, 0o750); err != nil { //nolint:gosec // the doctor must report this mode
		t.Fatal(err)
	}
	l.Console.Env = append(l.Console.Env, "FAIRLEAD_REDIS=redis://:secret@127.0.0.1:1", "FAIRLEAD_LOG_LEVEL=loud", "FAIRLEAD_TIMEOUTS_IDLE=soon")
	found = examine(l, cli.ExitProblems)
	mustFind(t, found, map[string]string{
		"permissions": "warn: other users can read " + l.Dir + " [run  chmod 700 ", "config": "fail: ", "redis": "fail: redis://:xxxxx@127.0.0.1:1 does not respond", "provider good": "ok: ", "provider bad": "fail: ", "prices": "warn: ", "keys": "warn: ",
	})
	clitest.MustContain(t, found["config"], `FAIRLEAD_LOG_LEVEL: level cannot be "loud" [use one of debug`, "FAIRLEAD_TIMEOUTS_IDLE")

	if err := os.Remove(filepath.Join(l.Dir, "master.key")); err != nil {
		t.Fatal(err)
	}
	mustFind(t, examine(l, cli.ExitProblems), map[string]string{"database": "fail: " + l.Dir + "/fairlead.db cannot be opened: its master key is missing", "provider good": "ok: ", "provider bad": "fail: "})
	if _, err := os.Stat(filepath.Join(l.Dir, "master.key")); err == nil {
		t.Error("the doctor created a new master key")
	}
	l.Console.Env = append(l.Console.Env, "FAIRLEAD_STORE=postgres://fairlead:secret@127.0.0.1:1/fairlead")
	found = examine(l, cli.ExitProblems)
	mustFind(t, found, map[string]string{"database": "fail: postgres://fairlead:xxxxx@127.0.0.1:1/fairlead cannot be opened: ", "provider good": "ok: "})
	clitest.MustContain(t, found["database"], "refused", "[start the database, or correct store in the configuration")
}

func TestDoctorDistinguishesProviderFailures(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // discard the error about the untrusted certificate
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plainServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", clitest.Noon.Add(10*time.Minute).Format(http.TimeFormat))
		switch {
		case strings.HasPrefix(r.URL.Path, "/busy"):
			w.WriteHeader(http.StatusTooManyRequests)
		case strings.HasPrefix(r.URL.Path, "/gone"):
			w.WriteHeader(http.StatusNotFound)
		case strings.HasPrefix(r.URL.Path, "/closed"):
			w.WriteHeader(http.StatusUnauthorized)
		default:
			_, _ = w.Write([]byte(`{"data":[{"id":"one"}]}`))
		}
	}))
	t.Cleanup(plainServer.Close)
	l := newLab(t)
	var text strings.Builder
	text.WriteString("listen: 127.0.0.1:0\nproviders:\n")
	for name, address := range map[string]string{
		"busy": plainServer.URL + "/busy", "gone": plainServer.URL + "/gone", "closed": plainServer.URL + "/closed", "misnamed": plainServer.URL,
		"unknown": "https://provider.invalid", "selfsigned": secure.URL,
	} {
		fmt.Fprintf(&text, "  - {name: %s, base_url: %q, models: [{name: two, input_per_mtok: 1, output_per_mtok: 1}]}\n", name, address)
	}
	l.Configure(text.String())
	found := examine(l, cli.ExitProblems)
	for check, want := range map[string][2]string{
		"provider busy":       {"warn: the provider is rate limiting", "[wait, "},
		"provider gone":       {"fail: status 404", "[correct base_url, which must include the version path such as /v1; it is " + plainServer.URL + "/gone]"},
		"provider closed":     {"fail: status 401", "[set an API key in "},
		"provider misnamed":   {"warn: responds in ", "but none of the configured ones [correct the model names"},
		"provider unknown":    {"fail: The provider's host name provider.invalid could not be resolved", "[correct the host in base_url, or the DNS settings of this machine]"},
		"provider selfsigned": {"fail: No secure connection", "add its certificate authority to the trusted certificates of this machine]"},
		"clock":               {"fail: 10 m 0 s behind the clock of ", "[synchronise it with NTP"},
		"prices":              {"ok: known for 6 models", ""},
	} {
		if !strings.HasPrefix(found[check], want[0]) || !strings.Contains(found[check], want[1]) {
			t.Errorf("%s: %q, want %q", check, found[check], want)
		}
	}
}

func TestDoctorRecognizesItsOwnServer(t *testing.T) {
	t.Parallel()
	answer, status := `{"status":"ready","checks":[]}`, http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	l := newLab(t)
	address := strings.TrimPrefix(server.URL, "http://")
	l.Console.Env = append(l.Console.Env, "FAIRLEAD_LISTEN="+address)
	port := func(code int, want string) {
		t.Helper()
		if got := examine(l, code)["port"]; !strings.HasPrefix(got, want) {
			t.Errorf("port: %q, want %q", got, want)
		}
	}
	port(cli.ExitProblems, "fail: a Fairlead server with a different data directory than "+l.Dir+" listens on "+address)
	release, err := store.Lock(l.Dir)
	if err != nil {
		t.Fatal(err)
	}
	port(cli.ExitOK, "ok: the server listens on "+address+" and is ready")
	status, answer = http.StatusServiceUnavailable, `{"status":"not ready","checks":[{"name":"spool","ok":false,"note":"full"}]}`
	port(cli.ExitProblems, "fail: the server on "+address+" is not ready – spool: full")
	status, answer = http.StatusOK, "<html>"
	port(cli.ExitProblems, "fail: another program listens on "+address)
	answer = `{"status":"ready","checks":[]}`
	if err := release(); err != nil {
		t.Fatal(err)
	}
	port(cli.ExitProblems, "fail: a Fairlead server with a different data directory")
	if release, err = store.Lock(l.Dir); err != nil {
		t.Fatalf("the doctor kept the lock: %v", err)
	}
	_ = release()
}

func TestDoctorDetectsBufferedStreams(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/readyz"):
			_, _ = w.Write([]byte(`{"status":"ready","checks":[]}`))
			return
		case !strings.HasSuffix(r.URL.Path, "/api/v1/requests/tail"):
			http.NotFound(w, r)
			return
		case r.Header.Get("Authorization") != "Bearer fl_read":
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if strings.HasPrefix(r.URL.Path, "/direct/") {
			_, _ = w.Write([]byte(": hello\n\n"))
		}
		if !strings.HasPrefix(r.URL.Path, "/whole/") {
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done() // the live feed stays open
	}))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		path, key string
		patience  time.Duration
		want      string
	}{
		{"/direct", "fl_read", time.Minute, "ok: the first event of an open stream arrived after "},
		{"/body", "fl_read", 50 * time.Millisecond, "fail: other responses arrive, but no stream data within 50 ms: a proxy buffers it"},
		{"/whole", "fl_read", 50 * time.Millisecond, "fail: other responses arrive, but no stream data within 50 ms: a proxy buffers it"},
		{"/direct", "fl_other", time.Minute, "warn: not tested: the key was rejected with status 403"},
		{"/direct", "", time.Minute, "warn: not tested: an API key is required"},
	} {
		u, err := url.Parse(server.URL + c.path)
		if err != nil {
			t.Fatal(err)
		}
		l := newLab(t)
		l.Console.Env = append(l.Console.Env, "FAIRLEAD_API_KEY="+c.key)
		d := &doctor{console: l.Console, options: &cli.Options{}, public: u, patience: c.patience}
		found := d.stream(t.Context())
		if len(found) != 1 || found[0].Check != "stream" || !strings.HasPrefix(found[0].Result+": "+found[0].Message, c.want) || (found[0].Result != fine) != (found[0].Fix != "") {
			t.Errorf("%s with %q: %+v, want %q", c.path, c.key, found, c.want)
		}
	}
}

func TestDoctorChecksDiskSpaceAndCertificate(t *testing.T) {
	t.Parallel()
	for free, want := range map[int64]string{-1: fine, 10 << 20: broken, 700 << 20: doubt, 3 << 30: doubt, 5 << 30: fine} {
		if got := space("/data", free, 2<<30); got.Result != want {
			t.Errorf("%d bytes left: %+v, want %s", free, got, want)
		}
	}
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t)
	dir := t.TempDir()
	cert := filepath.Join(dir, "cert.pem")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: server.Certificate().Raw}, filepath.Join(dir, "key.pem"): {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l.Console.Env = append(l.Console.Env, anyPort, "FAIRLEAD_TLS_CERT="+cert, "FAIRLEAD_TLS_KEY="+filepath.Join(dir, "key.pem"))
	end := server.Certificate().NotAfter
	for left, want := range map[time.Duration]string{-time.Hour: "fail: the certificate expired on ", 24 * time.Hour: "warn: the certificate expires on ", 1000 * time.Hour: "ok: the certificate expires on "} {
		l.Console.Now = func() time.Time { return end.Add(-left) }
		code := cli.ExitOK
		if left < 0 {
			code = cli.ExitProblems
		}
		mustFind(t, examine(l, code), map[string]string{"certificate": want})
	}
}

func TestDoctorReportsTheExport(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Configure("listen: 127.0.0.1:0\nexport: {file: " + filepath.Join(t.TempDir(), "evidence.jsonl") + "}\n")
	l.Run(cli.ExitOK, "keys", "create", "--name", "ci")
	mustFind(t, examine(l, cli.ExitOK), map[string]string{"export": "warn: configured, but no server has started it yet [start the server"})
	db, err := store.Open(t.Context(), "sqlite", l.Dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.StartExport(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustFind(t, examine(l, cli.ExitOK), map[string]string{"export": "ok: 0 records sent since "})
	l.Run(cli.ExitOK, "keys", "create", "--name", "waits")
	if err := db.FinishExport(t.Context(), nil, func(s *export.State) {
		s.Error, s.FailingSince, s.Deleted, s.DeletedAt = "siem returned status 503", clitest.Noon, 3, clitest.Noon
	}); err != nil {
		t.Fatal(err)
	}
	found := examine(l, cli.ExitOK)
	clitest.MustContain(t, found["export"], "warn: failing since ", "the oldest waiting record is ", ": siem returned status 503 [correct the receiver",
		"\nwarn: 3 records deleted before the export, last detected on ")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
