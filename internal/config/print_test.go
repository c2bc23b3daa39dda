package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const printExample = `store: postgres://user:hunter2-hunter2@host/db?sslmode=disable
master_key: 0123456789abcdef0123456789abcdef
providers:
  - name: local
    format: chat
    base_url: http://127.0.0.1:9/v1
    api_keys: [short-01, "sk-long-enough-to-show-9xK2"]
    headers: {X-Team: a-team-with-a-long-name}
    catalog: false
    models:
      - {name: small, quality: 0.25, timeouts: {idle: 90s}, abilities: [tools, vision]}
      - {name: "odd:name"}
`

func TestPrintShowsValuesAndTheirOrigin(t *testing.T) {
	t.Parallel()
	text := strings.Replace(printExample, `      - {name: "odd:name"}`+"\n", "", 1)
	loaded := mustLoad(t, Options{
		Path: write(t, text), Env: []string{"HOME=/home/pat", "FAIRLEAD_TIMEOUTS_TOTAL=1h30m"},
		Flags: map[string]string{"listen": ":0"},
	})
	var b strings.Builder
	if err := loaded.Print(&b, true); err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(b.String(), loaded.Path, "FILE")
	for _, want := range []string{
		`listen: :0                                                 # --listen
admin_listen: ""                                           # default
`, `data_dir: /home/pat/.local/share/fairlead                  # default
store: "postgres://user:[secret]@host/db?sslmode=disable"  # FILE:1
redis: ""                                                  # default
master_key: …cdef                                          # FILE:2
`, `
providers:
  - name: local                                            # FILE:4
    format: chat                                           # FILE:5
    base_url: http://127.0.0.1:9/v1                        # FILE:6
    api_keys: ["[secret]", …9xK2]                          # FILE:7
    headers:
      X-Team: …name                                        # FILE:8
    catalog: false                                         # FILE:9
    models:
      - name: small                                        # FILE:11
        quality: 0.25                                      # FILE:11
        abilities: [tools, vision]                         # FILE:11
        timeouts:
          idle: 1m30s                                      # FILE:11
detect: true                                               # default
`, `
timeouts:
  connect: 5s                                              # default
`, `
  total: 1h30m                                             # FAIRLEAD_TIMEOUTS_TOTAL
`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the configuration does not contain\n%s\nbut is\n%s", want, got)
		}
	}
}

// The printed configuration can be loaded again, except for secrets.
func TestPrintedConfigurationIsReadBack(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("[short, ", "[", "user:hunter2-hunter2@", "").Replace(printExample)
	first := mustLoad(t, Options{Path: write(t, text), Env: []string{"HOME=/h"}}).Config
	first.MasterKey, first.Providers[0].APIKeys, first.Providers[0].Headers = "", nil, nil
	var b strings.Builder
	if err := (&Loaded{Config: first}).Print(&b, false); err != nil {
		t.Fatal(err)
	}
	second := mustLoad(t, Options{Path: write(t, b.String())}).Config
	first.Models, first.Routing.Routes, first.AllowPrivateUpstreams, first.Log.Redact = []Model{}, []Route{}, []string{}, []string{}
	first.Telemetry.Headers, first.Telemetry.ResourceAttributes, first.Telemetry.Propagate = map[string]string{}, map[string]string{}, []string{}
	first.Export.Headers = map[string]string{}
	first.SSO.AllowedDomains, first.SSO.Groups, first.SSO.BreakGlass, first.SSO.Params = []string{}, []Group{}, []string{}, map[string]string{}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
}

func TestMask(t *testing.T) {
	t.Parallel()
	for secret, want := range map[string]string{"": "", "short": "[secret]", "fifteen-letters": "[secret]", "sixteen-letters!": "…ers!"} {
		if got := Mask(secret); got != want {
			t.Errorf("%q: got %q, want %q", secret, got, want)
		}
	}
}

func TestMaskURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"":                                     "",
		"sqlite":                               "sqlite",
		"postgres://user@host/db":              "postgres://user@host/db",
		"postgres://user:pw@host/db":           "postgres://user:[secret]@host/db",
		"redis://:pw@host:6379/0":              "redis://:[secret]@host:6379/0",
		"postgres://u@h/d?password=pw&a=b":     "postgres://u@h/d?password=[secret]&a=b",
		"postgres://u@h/d?sslpassword=pw":      "postgres://u@h/d?sslpassword=[secret]",
		"postgres://user:p%77%2f@host/db?a=b":  "postgres://[secret]@host/db",
		"postgres://user:bad%zz@host/db":       "[secret]",
		"postgres://user:a@b:pw@host/database": "postgres://[secret]@host/database",
	} {
		if got := MaskURL(address); got != want {
			t.Errorf("%q: got %q, want %q", address, got, want)
		}
	}
}
