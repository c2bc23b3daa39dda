package provider

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/redact"
)

// Vendor describes an API: its address, its settings, and how to create a provider for it.
type Vendor struct {
	Name    string   // name of the vendor, as used in the catalog's offers
	Title   string   // display name of the vendor
	Format  string   // wire format: chat, responses, messages, gemini, converse
	BaseURL string   // base URL, in which {A} is replaced with the environment variable A, and {A|B} with A or, if unset, B; empty if the operator must set it
	Place   string   // example of the setting that can replace base_url, for an error message; empty for none
	URLEnv  string   // environment variable that overrides BaseURL, as in the vendor's own tools
	Env     []string // environment variables that may hold the key, most common first

	// Ambient returns credentials that do not fit in a single variable, such as a key pair or a file. It may be nil.
	Ambient func(lookup func(string) string) (secret, source string)

	// Identity is the displayed name of the machine's cloud identity, such as "AWS default credentials". A provider in the
	// configuration file without credentials uses this identity. It is empty for vendors without a cloud identity.
	Identity string

	// Options returns defaults for Settings.Options from the environment. The operator's settings take precedence. It
	// may be nil.
	Options func(lookup func(string) string) map[string]string

	Local bool // whether the vendor is a server on this machine, which is detected by probing, needs no key, and costs nothing per token

	// New creates a provider from settings.
	New func(s Settings) *Provider
}

// Settings holds the operator's settings for a provider.
type Settings struct {
	Name        string // name of the provider; empty for the vendor's name
	BaseURL     string // base URL; empty for the vendor's address
	Credentials []Credential
	Headers     map[string]string // headers sent with every call; they override the adapter's headers, except Content-Type of media and objects
	Options     map[string]string // vendor-specific settings, such as a region or an API version
	Targets     []*Target
	UserAgent   string           // User-Agent header, such as fairlead/1.2.0
	Collects    bool             // whether the provider may store requests or train on them, regardless of the vendor's declaration
	MaxLine     int              // maximum line length of a stream in bytes; 0 for the format's default
	MaxResponse int64            // maximum response size in bytes; 0 for the format's default
	Now         func() time.Time // returns the current time; nil for time.Now
	// Fetch is the client for a vendor's token service; nil for vendors without one.
	Fetch *http.Client
	// Metadata returns a transport that reaches only the given metadata services ("host:port"), which have link-local
	// or private addresses. It may be nil.
	Metadata func(hosts ...string) http.RoundTripper
}

// Clock returns Now, or time.Now if Now is nil.
func (s Settings) Clock() func() time.Time {
	if s.Now == nil {
		return time.Now
	}
	return s.Now
}

// TargetsWithout returns copies of the targets without the given abilities. It also applies s.Collects to them.
func (s Settings) TargetsWithout(lacks llm.Abilities) []*Target {
	targets := make([]*Target, len(s.Targets))
	for i, t := range s.Targets {
		narrowed := *t
		narrowed.Collects = t.Collects || s.Collects
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

// Signing sets the wire format in which the targets sign reasoning, and returns the targets.
func Signing(format string, targets []*Target) []*Target {
	for _, t := range targets {
		t.Signs = format
	}
	return targets
}

// Post builds a POST request with the operator's headers and a JSON body, which may be in pieces.
func (s Settings) Post(ctx context.Context, url, accept string, body ...[]byte) (*http.Request, error) {
	var first []byte
	if len(body) > 0 {
		first = body[0]
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(first))
	if err != nil {
		return nil, err
	}
	if len(body) > 1 {
		r.ContentLength = 0
		for _, piece := range body {
			r.ContentLength += int64(len(piece))
		}
		r.GetBody = func() (io.ReadCloser, error) {
			rest := net.Buffers(slices.Clone(body)) // cloned, because reading empties the list
			return io.NopCloser(&rest), nil
		}
		r.Body, _ = r.GetBody() // GetBody never fails
	}
	values := [...]string{"application/json", accept, cmp.Or(s.UserAgent, "fairlead")} // same result as Header.Set, but with one allocation
	r.Header["Content-Type"], r.Header["Accept"], r.Header["User-Agent"] = values[0:1:1], values[1:2:2], values[2:3:3]
	for name, value := range s.Headers {
		r.Header.Set(name, value)
	}
	return r, nil
}

// Values of the Accept header.
const (
	AcceptJSON   = "application/json"
	AcceptEvents = "text/event-stream"
)

// maxFailure is the maximum number of bytes that are read from an error body.
const maxFailure = 64 << 10

// FailureBody reads the body of a response that is not 2xx and masks the credentials in it, because providers may repeat a rejected key.
func FailureBody(c *Call, resp *http.Response) []byte {
	// The status classifies the failure even if the body is incomplete.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxFailure))
	return redact.Credentials(body, append([]string{c.Secret}, c.Secrets...)...)
}

// Address returns the vendor's address according to the environment. It returns false if a required variable is not set. lookup is
// os.Getenv or a replacement.
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

// Key returns the vendor's secret from the environment and its source, usually the name of a variable.
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

// MaxWarnings is the maximum number of warnings for a request. It prevents requests with many unsupported members from filling the log.
const MaxWarnings = 12

// Mask replaces the credentials in a response from a token service.
func Mask(body []byte, secrets ...string) []byte { return redact.Credentials(body, secrets...) }
