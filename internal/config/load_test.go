package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// write writes text to a temporary file and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), FileName)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustLoad(t *testing.T, o Options) *Loaded {
	t.Helper()
	if o.Dirs == nil {
		o.Dirs = []string{}
	}
	loaded, err := Load(o)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return loaded
}

// mustFail loads an invalid configuration and returns its problems.
func mustFail(t *testing.T, o Options) *Problems {
	t.Helper()
	if o.Dirs == nil {
		o.Dirs = []string{}
	}
	_, err := Load(o)
	problems, ok := errors.AsType[*Problems](err)
	if !ok {
		t.Fatalf("got %v, want problems", err)
	}
	return problems
}

const designExample = `listen: 127.0.0.1:8080
store: sqlite            # or postgres://user@host/db
redis: redis://host:6379/0
default_model: gpt-4.1   # the baseline
providers:
  - name: openai
    format: chat                       # chat | messages | gemini | converse
    base_url: https://api.openai.com/v1
    api_keys: ["${OPENAI_API_KEY}"]
    models:                            # optional: catalog models are known already
      - {name: my-model, upstream: my-model-2026, input_per_mtok: 0.4, output_per_mtok: 1.6, context: 128000, quality: 0.7}
      - {name: my-embed, upstream: my-embed, kind: embedding, input_per_mtok: 0.02, dimensions: 1536}
timeouts: {connect: 5s, first_token: 10s, idle: 30s, total: 10m}   # also per model
breaker: {probe_after: 3s}
rescue: continue
allow_private_upstreams: [127.0.0.0/8]   # loopback and private provider addresses need this
`

func TestLoadDefaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  []string
		want string
	}{
		"a home":                    {[]string{"HOME=/home/pat"}, "/home/pat/.local/share/fairlead"},
		"a data home":               {[]string{"HOME=/home/pat", "XDG_DATA_HOME=/data"}, "/data/fairlead"},
		"a relative data home":      {[]string{"HOME=/home/pat", "XDG_DATA_HOME=data"}, "/home/pat/.local/share/fairlead"},
		"a service manager":         {[]string{"HOME=/root", "STATE_DIRECTORY=/var/lib/fairlead-a:/var/lib/other"}, "/var/lib/fairlead-a"},
		"no home, as in containers": {nil, "/var/lib/fairlead"},
		"the root as home":          {[]string{"HOME=/"}, "/var/lib/fairlead"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loaded := mustLoad(t, Options{Env: c.env})
			want := Default()
			want.DataDir = c.want
			if diff := cmp.Diff(want, loaded.Config); diff != "" {
				t.Error(diff)
			}
			if loaded.Path != "" || len(loaded.Origins) != 0 {
				t.Errorf("path %q, origins %v; want none without a file", loaded.Path, loaded.Origins)
			}
		})
	}
}

func TestLaterLayersWin(t *testing.T) {
	t.Parallel()
	path := write(t, "listen: 127.0.0.1:1\ntimeouts:\n  idle: 1s\n  total: 1m\nlog: {bodies: false}\nretries:\n  attempts: 2\n")
	env := []string{"FAIRLEAD_LISTEN=127.0.0.1:2", "FAIRLEAD_TIMEOUTS_IDLE=2s", "FAIRLEAD_SPOOL_STRICT=true", "FAIRLEAD_REDIS=", "HOME=/h"}
	flags := map[string]string{"listen": "127.0.0.1:3", "retries.attempts": "4"}

	loaded := mustLoad(t, Options{Path: path, Env: env, Flags: flags})

	want := Default()
	want.Listen = "127.0.0.1:3"
	want.DataDir = "/h/.local/share/fairlead"
	want.Timeouts.Idle = 2 * time.Second
	want.Timeouts.Total = time.Minute
	want.Log.Bodies = false
	want.Spool.Strict = true
	want.Retries.Attempts = 4
	if diff := cmp.Diff(want, loaded.Config); diff != "" {
		t.Error(diff)
	}
	wantOrigins := map[string]string{
		"listen": "--listen", "timeouts.idle": "FAIRLEAD_TIMEOUTS_IDLE", "timeouts.total": path + ":4",
		"log.bodies": path + ":5", "spool.strict": "FAIRLEAD_SPOOL_STRICT", "retries.attempts": "--retries-attempts",
		"timeouts.connect": "default", "redis": "default",
	}
	got := map[string]string{}
	for field := range wantOrigins {
		got[field] = loaded.Origin(field).String()
	}
	if diff := cmp.Diff(wantOrigins, got); diff != "" {
		t.Error(diff)
	}
}

func TestEnvironmentSetsLists(t *testing.T) {
	t.Parallel()
	path := write(t, "allow_private_upstreams: [127.0.0.0/8]\nproviders:\n  - name: a\n    api_keys: [key-one-1, key-two-2]\n")
	env := []string{
		"FAIRLEAD_ALLOW_PRIVATE_UPSTREAMS=10.0.0.0/8, fd00::/8",
		"FAIRLEAD_PROVIDERS=[{name: b, format: chat, base_url: 'http://127.0.0.1:1/v1'}]",
	}

	loaded := mustLoad(t, Options{Path: path, Env: env})

	if diff := cmp.Diff([]string{"10.0.0.0/8", "fd00::/8"}, loaded.Config.AllowPrivateUpstreams); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Provider{{Name: "b", Format: "chat", BaseURL: "http://127.0.0.1:1/v1"}}, loaded.Config.Providers); diff != "" {
		t.Error(diff)
	}
	for _, field := range []string{"providers[0].name", "allow_private_upstreams[0]"} {
		if o := loaded.Origin(field); o.Kind != FromEnvironment {
			t.Errorf("%s is from %s, want the environment", field, o)
		}
	}
}

func TestLoadFindsTheFile(t *testing.T) {
	t.Parallel()
	first, second, empty := t.TempDir(), t.TempDir(), t.TempDir()
	for dir, port := range map[string]string{first: "1", second: "2"} {
		if err := os.WriteFile(filepath.Join(dir, FileName), []byte("listen: 127.0.0.1:"+port), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	named := write(t, "listen: 127.0.0.1:3")
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"the first directory that has one":  {Options{Dirs: []string{empty, first, second}}, "127.0.0.1:1"},
		"a named file before all":           {Options{Path: named, Dirs: []string{first}}, "127.0.0.1:3"},
		"a file that the environment names": {Options{Env: []string{"FAIRLEAD_CONFIG=" + named}, Dirs: []string{first}}, "127.0.0.1:3"},
		"none":                              {Options{Dirs: []string{empty}}, "127.0.0.1:8080"},
		"the user's own directory":          {Options{Env: []string{"XDG_CONFIG_HOME=" + filepath.Dir(link(t, second))}, Dirs: nil}, "127.0.0.1:2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loaded, err := Load(c.o)
			if err != nil {
				t.Fatal(err)
			}
			if loaded.Config.Listen != c.want {
				t.Errorf("listen is %s, want %s", loaded.Config.Listen, c.want)
			}
		})
	}
}

// link creates a symbolic link named fairlead that points to dir, in a new directory.
func link(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fairlead")
	if err := os.Symlink(dir, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSecretsFromFilesAndVariables(t *testing.T) {
	t.Parallel()
	path := write(t, `master_key: file:master
store: postgres://user:${PG_PASSWORD}@host/db
providers:
  - name: a
    api_keys: ["${KEY_A}", "${KEY_B:-fallback}", "file:key", "pre-${KEY_A}-post", "$${literal}"]
`)
	secrets := map[string]string{"master": strings.Repeat("m", 32) + "\n", "key": "from-file\r\n"}
	for name, text := range secrets {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	c := mustLoad(t, Options{Path: path, Env: []string{"KEY_A=from-env", "PG_PASSWORD=pw"}}).Config

	want := []string{"from-env", "fallback", "from-file", "pre-from-env-post", "${literal}"}
	if diff := cmp.Diff(want, c.Providers[0].APIKeys); diff != "" {
		t.Error(diff)
	}
	if c.MasterKey != strings.Repeat("m", 32) || c.Store != "postgres://user:pw@host/db" {
		t.Errorf("master key %q, store %q", c.MasterKey, c.Store)
	}
}

func TestEmptyValuesKeepTheDefault(t *testing.T) {
	t.Parallel()
	got := mustLoad(t, Options{Path: write(t, "listen:\nproviders:\n  # none yet\ntimeouts:\nredis: ~\n"), Env: []string{"HOME=/h"}}).Config
	want := Default()
	want.DataDir = "/h/.local/share/fairlead"
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestAliasesAreRead(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, Options{Path: write(t, `models:
  - {name: a, timeouts: &slow {idle: 1m}}
  - {name: b, timeouts: *slow}
`)}).Config
	if got := c.Models[1].Timeouts.Idle; got != time.Minute {
		t.Errorf("idle is %s, want 1m", got)
	}
}

func TestHomeIsExpanded(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, Options{Path: write(t, "data_dir: ~/state\ntls: {cert: ~/c.pem, key: /k.pem}\n"), Env: []string{"HOME=/home/pat"}}).Config
	if c.DataDir != "/home/pat/state" || c.TLS.Cert != "/home/pat/c.pem" || c.TLS.Key != "/k.pem" {
		t.Errorf("data_dir %q, cert %q, key %q", c.DataDir, c.TLS.Cert, c.TLS.Key)
	}
}

func TestMisspelledVariablesCauseWarnings(t *testing.T) {
	t.Parallel()
	loaded := mustLoad(t, Options{Env: []string{"FAIRLEAD_LISTN=x", "FAIRLEAD_SERVICE_HOST=10.0.0.1", "FAIRLEAD_API_KEY=fl_x", "FAIRLEAD_TEST_POSTGRES=x"}})
	want := []string{"unknown environment variable FAIRLEAD_LISTN is ignored; did you mean FAIRLEAD_LISTEN?"}
	if diff := cmp.Diff(want, loaded.Warnings); diff != "" {
		t.Error(diff)
	}
}
