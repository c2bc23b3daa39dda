package bedrock

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

// cloud is a mock of the metadata service, the container agent and STS. It issues keys AKIA1, AKIA2, ...
type cloud struct {
	*httptest.Server
	issued atomic.Int64
	status int           // status of every response; 0 for success
	life   time.Duration // lifetime of the keys
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{life: time.Hour}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.status != 0 {
		c.issued.Add(1)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(c.status)
		fmt.Fprint(w, `<ErrorResponse><Error><Code>AccessDenied</Code><Message>bad web-token-1</Message></Error></ErrorResponse>`)
		return
	}
	expires := time.Now().Add(c.life).UTC().Format(time.RFC3339)
	const path = "/latest/meta-data/iam/security-credentials/"
	switch {
	case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
		fmt.Fprint(w, "session")
	case r.URL.Path == path && r.Header.Get("X-Aws-Ec2-Metadata-Token") == "session":
		fmt.Fprint(w, "my-role")
	case r.URL.Path == path+"my-role" && r.Header.Get("X-Aws-Ec2-Metadata-Token") == "session", r.URL.Path == "/container" && r.Header.Get("Authorization") == "agent-token":
		fmt.Fprintf(w, `{"Code":"Success","AccessKeyId":"AKIA%d","SecretAccessKey":"sk","Token":"st","Expiration":%q}`, c.issued.Add(1), expires)
	case r.URL.Path == "/" && strings.HasPrefix(r.PostFormValue("Action"), "AssumeRole") &&
		(r.PostFormValue("WebIdentityToken") == "web-token-1" || strings.Contains(r.Header.Get("Authorization"), "Credential=AKIDSTATIC")):
		action := r.PostFormValue("Action")
		fmt.Fprintf(w, `<%[1]sResponse><%[1]sResult><Credentials><AccessKeyId>AKIA%[2]d</AccessKeyId><SecretAccessKey>sk</SecretAccessKey><SessionToken>st</SessionToken><Expiration>%[3]s</Expiration></Credentials></%[1]sResult></%[1]sResponse>`, action, c.issued.Add(1), expires)
	default:
		w.WriteHeader(http.StatusForbidden)
	}
}

// provider returns a provider from the configuration file that uses the mock. It clears the SDK's environment
// variables.
func (c *cloud) provider(t *testing.T, secret, source string, extra map[string]string) *provider.Provider {
	t.Helper()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		if _, set := extra[name]; !set {
			t.Setenv(name, "")
		}
	}
	t.Setenv("AWS_CA_BUNDLE", "")
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", c.URL)
	t.Setenv("AWS_ENDPOINT_URL_STS", c.URL)
	s := provider.Settings{Credentials: []provider.Credential{{Secret: secret, Source: source}}, Options: map[string]string{OptionRegion: "eu-central-1"}}
	for name, value := range extra {
		if strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, value)
		} else {
			s.Options[name] = value
		}
	}
	maps.Copy(s.Options, options(os.Getenv))
	transport := &http.Transport{DisableKeepAlives: true}
	s.Fetch, s.Metadata = &http.Client{Transport: transport}, func(...string) http.RoundTripper { return transport }
	return New(s)
}

func TestDefaultCredentialsAreFound(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	c := newCloud(t)
	const role = "arn:aws:iam::123456789012:role/r"
	for name, tc := range map[string]struct {
		secret string
		extra  map[string]string
		want   string
	}{
		"instance metadata": {provider.Identity, nil, "AKIA%d:sk:st"},
		"container":         {provider.Identity, map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": c.URL + "/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "agent-token"}, "AKIA%d:sk:st"},
		"pod identity":      {provider.Identity, map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": c.URL + "/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": write("agent", "agent-token")}, "AKIA%d:sk:st"},
		"web identity":      {provider.Identity, map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": write("web", "web-token-1"), "AWS_ROLE_ARN": role}, "AKIA%d:sk:st"},
		"shared profile":    {provider.Identity, map[string]string{"AWS_SHARED_CREDENTIALS_FILE": write("shared", "[work]\naws_access_key_id = AKIDFILE\naws_secret_access_key = sk\n"), "AWS_PROFILE": "work"}, "AKIDFILE:sk"},
		"profile with role": {provider.Identity, map[string]string{
			"AWS_SHARED_CREDENTIALS_FILE": write("base", "[base]\naws_access_key_id = AKIDSTATIC\naws_secret_access_key = sk\n"),
			"AWS_CONFIG_FILE":             write("config", "[profile work]\nrole_arn = "+role+"\nsource_profile = base\n"), OptionSharedProfile: "work",
		}, "AKIA%d:sk:st"},
		"role by option": {"AKIDSTATIC:secret-key", map[string]string{OptionRole: role, OptionExternalID: "x"}, "AKIA%d:sk:st"},
		"static key":     {"AKIDSTATIC:secret-key", nil, "AKIDSTATIC:secret-key"},
		"API key":        {"bedrock-api-key", nil, "bedrock-api-key"},
	} {
		t.Run(name, func(t *testing.T) {
			p, before := c.provider(t, tc.secret, "file", tc.extra), c.issued.Load()
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() {
					got, err := p.Login(t.Context(), tc.secret)
					want := tc.want
					if strings.Contains(want, "%d") {
						want = fmt.Sprintf(want, before+1)
					}
					if got != want || err != nil {
						t.Errorf("Login = %q, %v; want %q", got, err, want)
					}
				})
			}
			all.Wait()
		})
	}
}

func TestKeysAreRenewedBeforeTheyExpire(t *testing.T) {
	c := newCloud(t)
	c.life = 4 * time.Minute // shorter than the time before expiry at which keys are renewed
	p := c.provider(t, provider.Identity, "file", nil)
	for _, want := range []string{"AKIA1:sk:st", "AKIA2:sk:st"} {
		if got, err := p.Login(t.Context(), provider.Identity); got != want || err != nil {
			t.Errorf("Login = %q, %v; want %q", got, err, want)
		}
	}
}

func TestCredentialServiceFailuresAreClassified(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web")
	if err := os.WriteFile(file, []byte("web-token-1"), 0o600); err != nil {
		t.Fatal(err)
	}
	for status, kind := range map[int]llm.Kind{403: llm.UpstreamAuth, 307: llm.UpstreamAuth, 429: llm.UpstreamRateLimited, 500: llm.UpstreamServer} {
		c := newCloud(t)
		c.status = status
		p := c.provider(t, provider.Identity, "file", map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": file, "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/r"})
		_, err := p.Login(t.Context(), provider.Identity)
		e := llm.AsError(err)
		if err == nil || e.Kind != kind || strings.Contains(fmt.Sprintf("%v %v", e, e.Err), "web-token-1") || c.issued.Load() != 1 {
			t.Errorf("status %d: %v after %d requests, want %s without the token after 1", status, err, c.issued.Load(), kind)
		}
	}
	p := newCloud(t).provider(t, provider.Identity, "file", map[string]string{"AWS_CA_BUNDLE": file})
	if _, err := p.Login(t.Context(), provider.Identity); llm.AsError(err).Kind != llm.UpstreamAuth || !strings.Contains(err.Error(), "AWS_CA_BUNDLE") {
		t.Errorf("certificate bundle: %v", err)
	}
	p = newCloud(t).provider(t, provider.Identity, "file", map[string]string{OptionSharedProfile: "none"})
	if _, err := p.Login(t.Context(), provider.Identity); llm.AsError(err).Kind != llm.UpstreamAuth || !strings.Contains(err.Error(), "profile none") {
		t.Errorf("missing profile: %v", err)
	}
}

func TestDashboardCredentialCannotUseTheMachine(t *testing.T) {
	c := newCloud(t)
	p := c.provider(t, provider.Identity, provider.Dashboard, nil)
	if _, err := p.Login(t.Context(), provider.Identity); llm.AsError(err).Kind != llm.UpstreamAuth || c.issued.Load() != 0 {
		t.Errorf("Login: %v after %d requests, want UpstreamAuth without a request", err, c.issued.Load())
	}
}
