package deploy

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

type compose struct {
	Services map[string]service
	Volumes  map[string]any
	Networks map[string]struct{ Internal bool }
	Configs  map[string]struct{ File string }
	Secrets  map[string]struct{ File string }
}

type service struct {
	Image       string
	User        string
	Restart     string
	ReadOnly    bool `yaml:"read_only"`
	Ports       []string
	Volumes     []string
	Networks    any // a list, or a map with addresses
	Secrets     []string
	Environment map[string]string
	Configs     []struct{ Source, Target string }
	CapDrop     []string       `yaml:"cap_drop"`
	SecurityOpt []string       `yaml:"security_opt"`
	Grace       time.Duration  `yaml:"stop_grace_period"`
	DependsOn   any            `yaml:"depends_on"`
	Healthcheck map[string]any `yaml:"healthcheck"`
}

// networks returns the names of the networks of a service.
func (s service) networks() []string {
	var names []string
	switch list := s.Networks.(type) {
	case []any:
		for _, name := range list {
			names = append(names, fmt.Sprint(name))
		}
	case map[string]any:
		names = slices.Sorted(maps.Keys(list))
	}
	return names
}

// variable matches a reference to an environment variable in a compose file. With :?, compose fails if the variable is not set.
var variable = regexp.MustCompile(`\$\{([A-Z_]+)(:\?[^}]+)?\}`)

// readCompose parses the compose file with the given environment variables, like Docker Compose.
func readCompose(t *testing.T, env map[string]string) compose {
	t.Helper()
	text := variable.ReplaceAllStringFunc(read(t, "deploy", "compose", "compose.yaml"), func(match string) string {
		m := variable.FindStringSubmatch(match)
		if m[2] == "" {
			t.Errorf("${%s} does not fail if the variable is not set; write ${%s:?…}", m[1], m[1])
		}
		return env[m[1]]
	})
	var c compose
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func defaultCompose(t *testing.T) compose {
	t.Helper()
	return readCompose(t, map[string]string{"FAIRLEAD_IMAGE": "fairlead:1.2.3", "FAIRLEAD_DOMAIN": "models.example.com"})
}

func replicas(c compose) map[string]service {
	list := map[string]service{}
	for name, s := range c.Services {
		if strings.HasPrefix(name, "fairlead-") {
			list[name] = s
		}
	}
	return list
}

func TestComposeServicesAreHardened(t *testing.T) {
	t.Parallel()
	c := defaultCompose(t)
	for name, s := range c.Services {
		wantPinned(t, s.Image)
		if len(s.Healthcheck) == 0 || s.Restart != "unless-stopped" || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s: healthcheck = %v, restart = %q, security_opt = %q; want a health check, unless-stopped and no-new-privileges:true",
				name, s.Healthcheck, s.Restart, s.SecurityOpt)
		}
		if name != "postgres" && (!s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"})) { // postgres changes file owners when it starts
			t.Errorf("%s: read_only = %v, cap_drop = %q; want true and [ALL]", name, s.ReadOnly, s.CapDrop)
		}
		if len(s.Ports) > 0 && name != "balancer" {
			t.Errorf("%s publishes the ports %q; only the balancer may publish ports", name, s.Ports)
		}
		for variable, value := range s.Environment {
			if regexp.MustCompile(`(?i)password|secret|token|key`).MatchString(variable) && !strings.HasPrefix(value, "/run/secrets/") {
				t.Errorf("%s: %s = %q, want a file below /run/secrets/", name, variable, value)
			}
		}
	}
	for _, name := range []string{"postgres", "valkey"} {
		if !slices.Equal(c.Services[name].networks(), []string{"back"}) || !c.Networks["back"].Internal {
			t.Errorf("%s: networks = %q, back is internal: %v; want only the internal network back",
				name, c.Services[name].networks(), c.Networks["back"].Internal)
		}
	}
}

func TestComposeReplicasHaveSeparateVolumes(t *testing.T) {
	t.Parallel()
	c := defaultCompose(t)
	seen := map[string]string{}
	for name, s := range replicas(c) {
		if len(s.Volumes) != 1 || !strings.HasSuffix(s.Volumes[0], ":/var/lib/fairlead") {
			t.Errorf("%s: volumes = %q, want one at /var/lib/fairlead", name, s.Volumes)
			continue
		}
		volume, _, _ := strings.Cut(s.Volumes[0], ":")
		if other, taken := seen[volume]; taken {
			t.Errorf("%s and %s share the volume %s; a data directory can be used by one process only", name, other, volume)
		}
		if _, ok := c.Volumes[volume]; !ok {
			t.Errorf("%s: the volume %s is not declared", name, volume)
		}
		seen[volume] = name
		if s.User != "65532:65532" || s.Grace <= 45*time.Second {
			t.Errorf("%s: user = %q, stop_grace_period = %s; want 65532:65532 and more than 45 s (30 s to drain, 10 s to deliver entries)",
				name, s.User, s.Grace)
		}
	}
	if len(seen) != 2 {
		t.Errorf("got %d replicas, want 2", len(seen))
	}
}

func TestComposeReferencesExist(t *testing.T) {
	t.Parallel()
	c := defaultCompose(t)
	for name, s := range c.Services {
		for _, secret := range s.Secrets {
			if c.Secrets[secret].File == "" {
				t.Errorf("%s: the secret %s is not declared", name, secret)
			}
		}
		for _, one := range s.Configs {
			if _, err := os.Stat(filepath.Join(root(t), "deploy", "compose", c.Configs[one.Source].File)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, network := range s.networks() {
			if _, ok := c.Networks[network]; !ok {
				t.Errorf("%s: the network %s is not declared", name, network)
			}
		}
	}
}

// Compose fails without the name of the image and the domain. They have no default, because an operator could forget to change a default.
func TestComposeRequiresImageAndDomain(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, m := range variable.FindAllStringSubmatch(read(t, "deploy", "compose", "compose.yaml"), -1) {
		names[m[1]] = m[2] != ""
	}
	if !names["FAIRLEAD_IMAGE"] || !names["FAIRLEAD_DOMAIN"] {
		t.Errorf("required variables are %v, want FAIRLEAD_IMAGE and FAIRLEAD_DOMAIN to be required", names)
	}
}

// The secrets that the script creates, the files that the services mount, and the settings that read the files must match.
func TestComposeSecretsMatchTheConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "make-secrets.sh")
	if err := os.WriteFile(script, []byte(read(t, "deploy", "compose", "make-secrets.sh")), 0o600); err != nil {
		t.Fatal(err)
	}
	made := makeSecrets(t, script)
	if again := makeSecrets(t, script); !maps.Equal(made, again) {
		t.Error("the second run of make-secrets.sh changed the secrets")
	}
	c := defaultCompose(t)
	for name := range c.Secrets {
		if len(made[name]) < 32 {
			t.Errorf("the secret %s has %d characters, want at least 32", name, len(made[name]))
		}
	}
	for name, s := range replicas(c) {
		mounted := map[string]string{}
		for _, secret := range s.Secrets {
			mounted["/run/secrets/"+secret] = made[secret]
		}
		wantSettings(t, s.Environment)
		loaded := loadConfig(t, read(t, "deploy", "compose", "fairlead.yaml"), mounted, "FAIRLEAD_PUBLIC_URL="+s.Environment["FAIRLEAD_PUBLIC_URL"])
		if len(loaded.Warnings) > 0 || loaded.Config.PublicURL != "https://models.example.com" || !loaded.Config.TrustProxy {
			t.Errorf("%s: warnings = %v, PublicURL = %q, TrustProxy = %v; want no warnings, https://models.example.com and true",
				name, loaded.Warnings, loaded.Config.PublicURL, loaded.Config.TrustProxy)
		}
		wantHost(t, c, loaded.Config.Store, "postgres", made["postgres_password"])
		wantHost(t, c, loaded.Config.Redis, "valkey", made["redis_password"])
	}
}

func makeSecrets(t *testing.T, script string) map[string]string {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "sh", script).CombinedOutput(); err != nil {
		t.Fatalf("make-secrets.sh: %v\n%s", err, out)
	}
	dir := filepath.Join(filepath.Dir(script), "secrets")
	if info, err := os.Stat(dir); err != nil {
		t.Error(err)
	} else if mode := info.Mode().Perm(); mode != 0o700 {
		t.Errorf("the mode of the secrets directory is %v, want 0700", mode)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		made[file.Name()] = string(data)
	}
	return made
}

// wantHost checks that an address has the host and the password of a service in the file.
func wantHost(t *testing.T, c compose, address, name, password string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	given, _ := u.User.Password()
	if _, ok := c.Services[u.Hostname()]; !ok || u.Hostname() != name || given != password {
		t.Errorf("the address is %s, want the host %s, which must be a service, and the password of this service", u.Redacted(), name)
	}
}

// test/external/team runs this configuration of nginx.
func TestBalancerUsesEveryReplica(t *testing.T) {
	t.Parallel()
	text := read(t, "deploy", "compose", "nginx.conf")
	for name := range replicas(defaultCompose(t)) {
		if !strings.Contains(text, "server "+name+":8080") {
			t.Errorf("nginx.conf lacks %s:8080", name)
		}
	}
}
