package vertex

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/providertest"
	"fairlead.dev/internal/wire/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func noon() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }

const everything = llm.Tools | llm.ParallelTools | llm.Vision | llm.AudioIn | llm.Files | llm.JSONMode | llm.JSONSchema | llm.ManyChoices | llm.Reasoning

func target(name string, op llm.Op) *provider.Target {
	return &provider.Target{Provider: "vertex", Upstream: name, Model: &catalog.Model{Name: name, Op: op, Abilities: everything}}
}

func offered() []*provider.Target {
	return []*provider.Target{
		target("gemini-2.5-flash", llm.Chat), target("gemini-3.6-flash", llm.Chat), target("claude-opus-4-8@default", llm.Chat),
		target("openai/gpt-oss-20b-maas", llm.Chat), target("gemini-embedding-001", llm.Embed), target("text-embedding-005", llm.Embed),
	}
}

func TestSuite(t *testing.T) {
	t.Parallel()
	providertest.Run(t, "testdata", func(baseURL string) *provider.Provider {
		return Vendor.New(provider.Settings{
			BaseURL: baseURL, UserAgent: "fairlead/test", Now: noon, Targets: offered(),
			Options: map[string]string{Project: "my-project", Location: "europe-west4"},
		})
	})
}

func TestModelsOfGoogleAndAnthropicAreOffered(t *testing.T) {
	t.Parallel()
	var names []string
	for _, t := range Vendor.New(provider.Settings{Targets: offered()}).Targets {
		names = append(names, t.Upstream)
	}
	if diff := cmp.Diff([]string{"gemini-2.5-flash", "gemini-3.6-flash", "claude-opus-4-8@default", "gemini-embedding-001", "text-embedding-005"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func newCall(t *testing.T, body string) *provider.Call {
	t.Helper()
	req, err := openai.Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return &provider.Call{Target: target("gemini-2.5-flash", llm.Chat), Access: provider.Access{Secret: "token"}, Request: req, Client: openai.Format{}}
}

const plain = `{"model":"m","messages":[{"role":"user","content":"x"}]}`

func TestAddress(t *testing.T) {
	t.Parallel()
	account := provider.Credential{Secret: `{"type":"service_account","project_id":"of-the-key"}`}
	person := provider.Credential{Secret: `{"type":"authorized_user","quota_project_id":"of-the-person"}`}
	for name, tc := range map[string]struct {
		s    provider.Settings
		want string // expected address; empty when the settings are invalid
	}{
		"everywhere":            {provider.Settings{Options: map[string]string{Project: "p"}}, "https://aiplatform.googleapis.com/v1/projects/p/locations/global/"},
		"one region":            {provider.Settings{BaseURL: address, Options: map[string]string{Project: "p", Location: "us-east5"}}, "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/"},
		"multi-region":          {provider.Settings{Options: map[string]string{Project: "p", Location: "eu"}}, "https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu/"},
		"custom address":        {provider.Settings{BaseURL: "https://proxy.test/vertex/", Options: map[string]string{Project: "p"}}, "https://proxy.test/vertex/projects/p/locations/global/"},
		"project of the key":    {provider.Settings{Credentials: []provider.Credential{{Secret: "token"}, account}}, "https://aiplatform.googleapis.com/v1/projects/of-the-key/locations/global/"},
		"project of the person": {provider.Settings{Credentials: []provider.Credential{person}}, "https://aiplatform.googleapis.com/v1/projects/of-the-person/locations/global/"},
		"no project":            {provider.Settings{}, ""},
		"invalid location":      {provider.Settings{Options: map[string]string{Project: "p", Location: "evil.test/"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Vendor.New(tc.s)
			r, err := p.Chat.NewRequest(t.Context(), newCall(t, plain))
			if tc.want == "" {
				if llm.AsError(err).Kind != llm.UpstreamAuth || p.BaseURL != address {
					t.Errorf("BaseURL = %q, Login: %v, want UpstreamAuth", p.BaseURL, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := r.URL.String(); got != tc.want+"publishers/google/models/gemini-2.5-flash:generateContent" {
				t.Errorf("URL = %s, want the prefix %s", got, tc.want)
			}
			if got := r.Header.Get("Authorization"); got != "Bearer token" {
				t.Errorf("Authorization = %q, want Bearer token", got)
			}
		})
	}
}

func TestConfiguredHeaderTakesPrecedence(t *testing.T) {
	t.Parallel()
	p := Vendor.New(provider.Settings{Options: map[string]string{Project: "p"}, Headers: map[string]string{"Authorization": "Basic mine"}})
	r, err := p.Chat.NewRequest(t.Context(), newCall(t, plain))
	if err != nil || r.Header.Get("Authorization") != "Basic mine" {
		t.Errorf("Authorization = %q, %v; want Basic mine", r.Header.Get("Authorization"), err)
	}
}

func environment(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

func TestOptionsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		lookup func(string) string
		want   map[string]string
	}{
		"vertex variables first": {environment("GOOGLE_CLOUD_PROJECT", "b", "GOOGLE_VERTEX_PROJECT", "a", "GOOGLE_CLOUD_LOCATION", "eu"), map[string]string{Project: "a", Location: "eu"}},
		"Google variables":       {environment("GOOGLE_CLOUD_PROJECT", "b"), map[string]string{Project: "b"}},
		"nothing":                {environment(), map[string]string{}},
	} {
		if diff := cmp.Diff(tc.want, Vendor.Options(tc.lookup)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestCredentialsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	const account = `{"type":"service_account","project_id":"p"}`
	const person = `{"type":"authorized_user"}`
	key, keyless := write("key.json", account+"\n"), write("person.json", person)
	write(".config/gcloud/application_default_credentials.json", person)
	for name, tc := range map[string]struct {
		lookup         func(string) string
		secret, source string
	}{
		"a service account":                    {environment(fileEnv, key), account, fileEnv},
		"a person without a project":           {environment(fileEnv, keyless), "", ""},
		"a person with a project":              {environment(fileEnv, keyless, "GOOGLE_CLOUD_PROJECT", "p"), person, fileEnv},
		"a missing file":                       {environment(fileEnv, filepath.Join(home, "no")), "", ""},
		"a folder":                             {environment(fileEnv, home), "", ""},
		"an unknown type":                      {environment(fileEnv, write("other.json", `{"type":"gdch_service_account","project_id":"p"}`)), "", ""},
		"invalid JSON":                         {environment(fileEnv, write("odd.json", `hello`)), "", ""},
		"a file that is too long":              {environment(fileEnv, write("long.json", account+strings.Repeat(" ", maxFile))), "", ""},
		"gcloud credentials":                   {environment("HOME", home, "GOOGLE_VERTEX_PROJECT", "p"), person, "gcloud"},
		"gcloud credentials without a project": {environment("HOME", home), "", ""},
		"gcloud credentials in another folder": {environment("HOME", "/nowhere", "CLOUDSDK_CONFIG", filepath.Join(home, ".config/gcloud"), "GOOGLE_VERTEX_PROJECT", "p"), person, "gcloud"},
		"an empty environment":                 {environment(), "", ""},
	} {
		secret, source := Vendor.Key(tc.lookup)
		if secret != tc.secret || source != tc.source {
			t.Errorf("%s: Key = %q from %q, want %q from %q", name, secret, source, tc.secret, tc.source)
		}
	}
}
