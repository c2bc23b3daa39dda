package doctor

import (
	"crypto/x509"
	"encoding/pem"
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

	"fairlead/internal/cli"
	"fairlead/internal/cli/clitest"
	"fairlead/internal/store"
)

// anyPort lets the doctor listen without getting in the way of what runs on this machine.
const anyPort = "FAIRLEAD_LISTEN=127.0.0.1:0"

// examined runs the doctor and returns its findings by check; those of one check stand one after the other.
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

func TestDoctorMakesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Console.Env = append(l.Console.Env, anyPort)
	mustFind(t, examine(l, cli.ExitOK), map[string]string{
		"config": "ok: ", "port": "ok: 127.0.0.1:0 is free", "data": "ok: " + l.Dir + " is not there yet", "database": "ok: " + l.Dir + "/fairlead.db is not there yet",
		"provider simulator": "warn: answers are SIMULATED", "clock": "ok: no provider returned",
	})
	if _, err := os.Stat(l.Dir); err == nil {
		t.Error("the doctor made a data directory")
	}
	out, err := l.Run(cli.ExitOK, "doctor")
	clitest.MustContain(t, out, "CHECK               RESULT  FOUND\n", "\nport                ok      127.0.0.1:0 is free", "\n                            fix: set OPENAI_API_KEY")
	clitest.MustContain(t, err, "0 failures, ")
	_, err = l.Run(cli.ExitUsage, "doctor", "--url", "models.example.com")
	clitest.MustContain(t, err, "is not an address")
}

// One failure hides no other.
func TestDoctorFindsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t).WithProviders()
	l.Console.Now = time.Now
	l.Console.Env = append(l.Console.Env, anyPort)
	l.Run(cli.ExitOK, "keys", "create", "--name", "ci", "--expires", "2d")
	found := examine(l, cli.ExitProblems)
	mustFind(t, found, map[string]string{
		"database": "ok: " + l.Dir + "/fairlead.db answers in ", "data": "ok: " + l.Dir + " can be written",
		"provider good": "ok: answers in ", "provider bad": "fail: it answers 401: The provider does not accept the gateway's credential: Incorrect API key provided",
		"clock": "ok: as that of ", "prices": "warn: unknown for 1 of 4 models, so requests go elsewhere: bad/unpriced-model [set them:  fairlead models price bad/unpriced-model ",
		"keys": "warn: 1 of 1 end within 7 days: ci on ",
	})
	clitest.MustContain(t, found["provider good"], "the key is accepted, lists 2 models")
	clitest.MustContain(t, found["provider bad"], "[replace the key file …9999 by one that is valid")
	if _, ok := found["provider resting"]; ok {
		t.Error("a provider that is off was tested")
	}

	l.Console.Env = append(l.Console.Env, "FAIRLEAD_REDIS=redis://:secret@127.0.0.1:1", "FAIRLEAD_LOG_LEVEL=loud", "FAIRLEAD_HEDGING_AFTER=soon")
	found = examine(l, cli.ExitProblems)
	mustFind(t, found, map[string]string{
		"config": "fail: ", "redis": "fail: redis://:xxxxx@127.0.0.1:1 does not answer", "provider good": "ok: ", "provider bad": "fail: ", "prices": "warn: ", "keys": "warn: ",
	})
	clitest.MustContain(t, found["config"], `FAIRLEAD_LOG_LEVEL: level cannot be "loud" [use one of debug`, "FAIRLEAD_HEDGING_AFTER")

	if err := os.Remove(filepath.Join(l.Dir, "master.key")); err != nil {
		t.Fatal(err)
	}
	mustFind(t, examine(l, cli.ExitProblems), map[string]string{"database": "fail: " + l.Dir + "/fairlead.db does not open: its master key is gone", "provider good": "ok: ", "provider bad": "fail: "})
	if _, err := os.Stat(filepath.Join(l.Dir, "master.key")); err == nil {
		t.Error("the doctor made a master key that opens nothing")
	}
	l.Console.Env = append(l.Console.Env, "FAIRLEAD_STORE=postgres://fairlead:secret@127.0.0.1:1/fairlead")
	found = examine(l, cli.ExitProblems)
	mustFind(t, found, map[string]string{"database": "fail: postgres://fairlead:xxxxx@127.0.0.1:1/fairlead does not open: ", "provider good": "ok: "})
	clitest.MustContain(t, found["database"], "refused", "[start it, or correct store in the configuration")
}

func TestDoctorTellsProvidersApart(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // the test checks that it is not trusted
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
		"provider busy":       {"warn: it limits our calls", "[wait, "},
		"provider gone":       {"fail: it answers 404", "[correct base_url, which goes up to and with /v1; it is " + plainServer.URL + "/gone]"},
		"provider closed":     {"fail: it answers 401", "[give it a key: "},
		"provider misnamed":   {"warn: answers in ", "and none that is configured [correct the names of its models"},
		"provider unknown":    {"fail: The provider's host name provider.invalid could not be resolved", "[correct the host in base_url, or this machine's DNS]"},
		"provider selfsigned": {"fail: No secure connection", "add its authority to this machine's certificates]"},
		"clock":               {"fail: it is 10 m 0 s behind that of ", "[keep it by NTP"},
		"prices":              {"ok: known for 6 models", ""},
	} {
		if !strings.HasPrefix(found[check], want[0]) || !strings.Contains(found[check], want[1]) {
			t.Errorf("%s: %q, want %q", check, found[check], want)
		}
	}
}

func TestDoctorKnowsItsOwnServer(t *testing.T) {
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
	port(cli.ExitProblems, "fail: a fairlead with another data directory than "+l.Dir+" listens on "+address)
	release, err := store.Lock(l.Dir)
	if err != nil {
		t.Fatal(err)
	}
	port(cli.ExitOK, "ok: our server listens on "+address+" and is ready")
	status, answer = http.StatusServiceUnavailable, `{"status":"not ready","checks":[{"name":"spool","ok":false,"note":"full"}]}`
	port(cli.ExitProblems, "fail: the server on "+address+" is not ready – spool: full")
	status, answer = http.StatusOK, "<html>"
	port(cli.ExitProblems, "fail: something else listens on "+address)
	answer = `{"status":"ready","checks":[]}`
	if err := release(); err != nil {
		t.Fatal(err)
	}
	port(cli.ExitProblems, "fail: a fairlead with another data directory")
	if release, err = store.Lock(l.Dir); err != nil {
		t.Fatalf("the doctor kept the lock: %v", err)
	}
	_ = release()
}

func TestDoctorSeesStreamsHeldBack(t *testing.T) {
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
		<-r.Context().Done() // a feed has no end of its own
	}))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		path, key string
		patience  time.Duration
		want      string
	}{
		{"/direct", "fl_read", time.Minute, "ok: the beginning of one arrives after "},
		{"/body", "fl_read", 50 * time.Millisecond, "fail: other answers arrive, but nothing of a stream within 50 ms: a proxy holds it back"},
		{"/whole", "fl_read", 50 * time.Millisecond, "fail: other answers arrive, but nothing of a stream within 50 ms: a proxy holds it back"},
		{"/direct", "fl_other", time.Minute, "warn: not tested: the key is refused with status 403"},
		{"/direct", "", time.Minute, "warn: not tested: it takes a key"},
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

func TestDoctorWatchesSpaceAndCertificate(t *testing.T) {
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
	for left, want := range map[time.Duration]string{-time.Hour: "fail: it ended on ", 24 * time.Hour: "warn: it ends on ", 1000 * time.Hour: "ok: it ends on "} {
		l.Console.Now = func() time.Time { return end.Add(-left) }
		code := cli.ExitOK
		if left < 0 {
			code = cli.ExitProblems
		}
		mustFind(t, examine(l, code), map[string]string{"certificate": want})
	}
}
