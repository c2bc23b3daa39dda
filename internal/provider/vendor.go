package provider

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/redact"
)

// Vendor describes an API: its address, its settings, and how to create a provider for it.
type Vendor struct {
	Name    string   // as in the catalog's offers
	Title   string   // as people call it
	Format  string   // the wire format it speaks: chat, messages, gemini, converse
	BaseURL string   // {NAME} stands for the value of an environment variable, {A|B} for the first that is set; empty when it must be configured
	Place   string   // what to write into the file to say where it is, other than base_url; empty for nothing
	URLEnv  string   // the variable that replaces BaseURL, where the vendor's own tools know one
	Env     []string // variables that hold its key, the usual one first

	// Ambient reads credentials that are not one key in one variable, such as a pair or a file's name. It may be nil.
	Ambient func(lookup func(string) string) (secret, source string)

	// Identity says that a provider of the configuration file without credentials uses the machine's own cloud identity. It is
	// the source shown for that credential, such as "AWS default credentials"; empty for vendors without one.
	Identity string

	// Options reads what Settings.Options holds from the environment; what the operator sets wins. It may be nil.
	Options func(lookup func(string) string) map[string]string

	Local bool // runs on this machine: found by looking, needs no key, costs nothing per token

	// New makes the provider that settings describe.
	New func(s Settings) *Provider
}

// Settings is what an operator decides about a vendor.
type Settings struct {
	Name        string // the vendor's own when empty
	BaseURL     string // the vendor's own when empty
	Credentials []Credential
	Headers     map[string]string // sent with every call; they win over ours
	Options     map[string]string // what this vendor alone needs, such as a region or an API version
	Targets     []*Target
	UserAgent   string           // such as fairlead/1.2.0
	Collects    bool             // the provider may store or train on requests, whatever the vendor says
	MaxLine     int              // longest line of a stream; 0 for the format's own bound
	MaxAnswer   int64            // longest answer; 0 for the format's own bound
	Now         func() time.Time // time.Now when nil
	// Fetch makes calls to a vendor's token service; nil for vendors that have none.
	Fetch *http.Client
	// Metadata returns a transport that reaches only these metadata services, "host:port", which have link-local or private
	// addresses. It may be nil.
	Metadata func(hosts ...string) http.RoundTripper
}

// Clock is Now, or the system's clock.
func (s Settings) Clock() func() time.Time {
	if s.Now == nil {
		return time.Now
	}
	return s.Now
}

// Narrowed returns copies of the targets without the abilities that the vendor lacks.
func (s Settings) Narrowed(lacks llm.Abilities, collects bool) []*Target {
	targets := make([]*Target, len(s.Targets))
	for i, t := range s.Targets {
		narrowed := *t
		narrowed.Collects = t.Collects || collects || s.Collects
		narrowed.Lacks = t.Lacks | lacks
		if t.Model.Abilities&lacks != 0 {
			model := *t.Model
			model.Abilities &^= lacks
			narrowed.Model = &model
		}
		targets[i] = &narrowed
	}
	return targets
}

// Post builds a call with a JSON body and the operator's own headers.
func (s Settings) Post(ctx context.Context, url string, body []byte, accept string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	values := [...]string{"application/json", accept, cmp.Or(s.UserAgent, "fairlead")} // as Set would, in one piece
	r.Header["Content-Type"], r.Header["Accept"], r.Header["User-Agent"] = values[0:1:1], values[1:2:2], values[2:3:3]
	for name, value := range s.Headers {
		r.Header.Set(name, value)
	}
	return r, nil
}

// The answers that a call may ask for.
const (
	AcceptJSON   = "application/json"
	AcceptEvents = "text/event-stream"
)

// maxFailure bounds the bytes read of an error body.
const maxFailure = 64 << 10

// FailureBody reads the body of a response that is not 2xx and masks the credentials in it: providers repeat a key that they
// reject.
func FailureBody(c *Call, resp *http.Response) []byte {
	// A body that breaks off says as much as it says: the status classifies the failure.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxFailure))
	return redact.Credentials(body, append([]string{c.Secret}, c.Secrets...)...)
}

// Address is where the vendor is, as the environment has it. It reports false when something it needs is not set.
// lookup is os.Getenv or stands in for it.
func (v Vendor) Address(lookup func(string) string) (string, bool) {
	if v.URLEnv != "" {
		if url := lookup(v.URLEnv); url != "" {
			return strings.TrimRight(url, "/"), true
		}
	}
	url := v.BaseURL
	for {
		before, rest, found := strings.Cut(url, "{")
		if !found {
			return url, url != ""
		}
		names, after, _ := strings.Cut(rest, "}")
		value := ""
		for name := range strings.SplitSeq(names, "|") {
			value = cmp.Or(value, strings.TrimRight(lookup(name), "/"))
		}
		if value == "" {
			return "", false
		}
		url = before + value + after
	}
}

// Key returns the vendor's secret in the environment and where it was found: the name of a variable, mostly.
func (v Vendor) Key(lookup func(string) string) (secret, source string) {
	for _, name := range v.Env {
		if secret := lookup(name); secret != "" {
			return secret, name
		}
	}
	if v.Ambient != nil {
		return v.Ambient(lookup)
	}
	return "", ""
}

// MaxWarnings keeps a request with very many unknown members, or an answer with very many faults, from filling the log.
const MaxWarnings = 12

// Mask replaces the credentials in a response of a token service.
func Mask(body []byte, secrets ...string) []byte { return redact.Credentials(body, secrets...) }
