package sso

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/harness"
)

// dockerStub replaces docker: a replica is a process of this test, which serves the address of the stub.
const dockerStub = `#!/bin/sh
case "$*" in
"compose up -d --wait") ;;
"compose up -d --no-deps --wait "*) shift 5; exec curl -fsS "$STUB/$1" ;;
"compose exec -T fairlead-"*) replica=$4; shift 5; exec "$(dirname "$0")/$replica" "$@" ;;
*) echo "unexpected: docker $*" >&2; exit 1 ;;
esac
`

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// TestTeamGuide executes every block of docs/guides/team.md with the files of deploy/compose: two replicas with PostgreSQL and Redis, nginx
// with its configuration, and sign-in at Dex.
func TestTeamGuide(t *testing.T) {
	t.Parallel()
	postgres, redis := os.Getenv("FAIRLEAD_TEST_POSTGRES"), os.Getenv("FAIRLEAD_TEST_REDIS")
	if postgres == "" || redis == "" {
		t.Fatal("run this test with scripts/with-services.sh")
	}
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	dir, bin := t.TempDir(), t.TempDir()
	compose := filepath.Join(dir, "deploy", "compose")
	secrets := filepath.Join(compose, "secrets")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // some files are programs
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(compose, os.DirFS(filepath.Join(root, "deploy", "compose"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(compose, "make-secrets.sh"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	if err := os.MkdirAll(secrets, 0o700); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(secrets, "store_url"), postgres) // the script keeps existing files
	write(filepath.Join(secrets, "redis_url"), redis)

	public := "localhost:" + port(harness.FreeAddress(t))
	dex, err := Start(t.Context(), harness.FreeAddress(t), "https://"+public+"/api/v1/sso/callback", "platform")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dex.Stop)
	restarts, restarted := make(chan string), make(chan bool)
	stub := harness.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		restarts <- strings.TrimPrefix(r.URL.Path, "/")
		if !<-restarted {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	write(filepath.Join(bin, "docker"), dockerStub)

	replicas := map[string]*harness.Gateway{}
	var key string
	// run executes the blocks of a section, in the folder of the compose file.
	run := func(section, script string) string {
		script = strings.NewReplacer(
			"FAIRLEAD_DOMAIN=models.example.com", "FAIRLEAD_DOMAIN=localhost", "https://models.example.com", "https://"+public,
			"https://login.example.com", dex.Issuer, "FAIRLEAD_SSO_CLIENT_SECRET=…", "FAIRLEAD_SSO_CLIENT_SECRET="+ClientSecret,
			"cd deploy/compose\n", "",
		).Replace(script)
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
		cmd.Dir = compose
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "STUB="+stub, "FAIRLEAD_API_KEY="+key, "CURL_CA_BUNDLE="+filepath.Join(secrets, "tls_certificate"))
		type result struct {
			out []byte
			err error
		}
		ended := make(chan result)
		go func() {
			out, err := cmd.CombinedOutput()
			ended <- result{out, err}
		}()
		for {
			select {
			case name := <-restarts:
				if replicas[name] != nil {
					replicas[name].Restart(t)
				}
				restarted <- replicas[name] != nil
			case r := <-ended:
				if r.err != nil {
					t.Fatalf("%s: %v\n%s", section, r.err, r.out)
				}
				return string(r.out)
			}
		}
	}
	mock, address := harness.Upstream(t)
	mock.For("silent", simulator.Behaviour{SilentAfter: 3})
	// start starts the replicas and nginx with the files of the guide.
	start := func() {
		settings := read(filepath.Join(compose, "fairlead.yaml")) + harness.Config(t, []harness.Provider{{
			Name: "mock", BaseURL: address, Models: []harness.Model{harness.Chat("good", 1, 2, 0.5), harness.Chat("silent", 1, 2, 0.5)},
		}})
		balancer := read(filepath.Join(compose, "nginx.conf"))
		var env []string
		for line := range strings.Lines(read(filepath.Join(compose, "providers.env"))) {
			if !strings.HasPrefix(line, "OPENAI_API_KEY") { // a mock serves the models
				env = append(env, strings.TrimSpace(line))
			}
		}
		for _, name := range []string{"fairlead-1", "fairlead-2"} {
			listen := harness.FreeAddress(t)
			text := strings.NewReplacer("/run/secrets/", secrets+"/", "0.0.0.0:8080", listen, "0.0.0.0:9090", harness.FreeAddress(t)).Replace(settings)
			replicas[name] = harness.Start(t, harness.Options{Config: text, Listen: listen, Env: append([]string{"FAIRLEAD_PUBLIC_URL=https://" + public}, env...)})
			write(filepath.Join(bin, name), "#!/bin/sh\nexec env "+strings.Join(env, " ")+" "+replicas[name].Command(`"$@"`)+"\n")
			balancer = strings.ReplaceAll(balancer, name+":8080", listen)
		}
		balancer = strings.NewReplacer("/run/secrets/", secrets+"/", "listen 8443", "listen 127.0.0.1:"+port(public), "/tmp/", dir+"/").Replace(balancer)
		write(filepath.Join(dir, "nginx.conf"), balancer)
		nginx := exec.CommandContext(t.Context(), "bash", "-c", "PATH=$PATH:/usr/sbin exec nginx -e stderr -c "+filepath.Join(dir, "nginx.conf")+" -g 'daemon off; user root;'")
		if os.Getuid() != 0 {
			nginx.Args[2] = strings.Replace(nginx.Args[2], " user root;", "", 1)
		}
		nginx.Stderr = t.Output()
		nginx.Cancel = func() error { return nginx.Process.Signal(os.Interrupt) }
		nginx.WaitDelay = 5 * time.Second
		if err := nginx.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = nginx.Process.Signal(os.Interrupt) // it may have ended
			_ = nginx.Wait()
		})
	}
	var client *http.Client
	call := func(body string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+public+"/proxy/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	page := read(filepath.Join(root, "docs", "guides", "team.md"))
	for _, at := range strings.Split(page, "\n## ")[1:] {
		section, text, _ := strings.Cut(at, "\n")
		script := ""
		for _, block := range shellBlock.FindAllStringSubmatch(text, -1) {
			script += block[1]
		}
		if script == "" {
			continue
		}
		if section == "3. Start" {
			start()
		}
		out := run(section, script)
		switch section {
		case "3. Start":
			pool := x509.NewCertPool()
			pool.AppendCertsFromPEM([]byte(read(filepath.Join(secrets, "tls_certificate"))))
			jar, err := cookiejar.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			client = &http.Client{Jar: jar, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}, Timeout: time.Minute}
			harness.Eventually(t, "nginx answers", func() bool {
				resp, err := client.Get("https://" + public + "/readyz")
				return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
			})
			b := browser{t, client, "https://" + public}
			harness.Eventually(t, "a user signs in", func() bool { return b.signIn(Password).Path == "/settings/keys" })
			if s := b.session(); s.Account == nil || len(s.Workspaces) != 1 || s.Workspaces[0].Role != "admin" {
				t.Errorf("the session is %+v, want the first account as admin", s)
			}
		case "4. Create a key with a budget for each application":
			keys := strings.Fields(out)
			if len(keys) != 2 {
				t.Fatalf("the commands printed %q, want two keys", out)
			}
			key = keys[0]
		case "5. Get an alert":
			var rule struct{ Kind string }
			if err := json.Unmarshal([]byte(out), &rule); err != nil || rule.Kind != "budget" {
				t.Errorf("the rule is %s (%v)", out, err)
			}
		case "6. Call a model":
			if !strings.Contains(out, "data: [DONE]") {
				t.Errorf("the stream is %s", out)
			}
			resp := call(`{"model":"silent","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
			first, err := bufio.NewReader(resp.Body).ReadString('\n') // the provider never ends this response
			_ = resp.Body.Close()
			if err != nil || !strings.HasPrefix(first, "data: ") {
				t.Errorf("the first event of a running stream is %q (%v)", first, err)
			}
			// Both replicas show both budgets.
			for name, g := range replicas {
				if out, problem, code := g.CLI(t, "budgets", "list", "--json"); code != 0 || strings.Count(out, "\n") < 2 {
					t.Errorf("%s: budgets list: exit code %d: %s%s", name, code, out, problem)
				}
			}
		case "Restart or upgrade without an outage":
			resp := call(`{"model":"good","messages":[{"role":"user","content":"hi"}]}`)
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("status %d after the restart", resp.StatusCode)
			}
			// With one replica stopped, nginx sends every request to the other.
			replicas["fairlead-1"].Stop(t)
			for range 4 {
				resp := call(`{"model":"good","messages":[{"role":"user","content":"hi"}]}`)
				_ = resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					t.Errorf("status %d with one replica", resp.StatusCode)
				}
			}
			return
		}
	}
	t.Error("the guide has no section about restarts")
}

func port(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }
