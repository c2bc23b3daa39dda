package gateway

import (
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/responsecache"
	"fairlead.dev/internal/session"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/show"
)

// Keys authenticates callers.
type Keys interface {
	// Authenticate returns the key in the headers with its workspace, or an *llm.Error.
	Authenticate(h http.Header) (*account.Grant, error)
	// Touch records that a key was used. It never blocks.
	Touch(keyID, client string, at time.Time)
	// Key returns a key by its id, or nil if it is unknown.
	Key(keyID string) *account.Key
	// Workspace returns a workspace by its id, or nil if it is unknown.
	Workspace(workspaceID string) *account.Workspace
}

// authenticateKey authenticates the API key of a request.
func authenticateKey(r *http.Request, s *Settings, keys Keys, at time.Time) (*account.Grant, error) {
	if err := checkOrigin(r, s); err != nil {
		return nil, err
	}
	grant, err := keys.Authenticate(r.Header)
	if err != nil {
		return nil, err
	}
	keys.Touch(grant.Key.ID, show.Shorten(r.UserAgent()), at)
	return grant, nil
}

// checkScope rejects keys that may not use the model API.
func checkScope(grant *account.Grant) error {
	if !slices.Contains(grant.Key.Scopes, account.Inference) {
		return llm.Errorf(llm.ScopeDenied, "Key %q may not call models because it does not have the \"inference\" scope. Add the scope in API key settings, or use another key.", grant.Key.Name)
	}
	if grant.Key.MakerRole == account.Viewer { // the only role without the permission to use models
		return llm.Errorf(llm.ScopeDenied, "Key %q may not call models because its creator is now a viewer of the workspace. Use a key of another member, or ask an owner or admin.", grant.Key.Name)
	}
	return nil
}

// checkOrigin rejects calls from a web page, because every visitor of the page could read the key. The dashboard may test a key that it
// has just created.
func checkOrigin(r *http.Request, s *Settings) error {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	// Like browsers, Node's fetch sends Sec-Fetch-Mode: cors. Unlike browsers, it sends Accept-Language: * and no Sec-Fetch-Site.
	node := r.Header.Get("Accept-Language") == "*" && site == ""
	fromPage := origin != "" || r.Header.Get("Sec-Fetch-Mode") == "cors" && !node
	if s.AllowBrowsers || !fromPage {
		return nil
	}
	if r.Header.Get("X-Fairlead-Dashboard") != "" {
		// Any page can send the dashboard header, so the browser must also report a same-origin request. On plain HTTP, browsers send
		// Origin but no Sec-Fetch-Site.
		page, err := url.Parse(origin)
		if site == "same-origin" || site == "" && err == nil && page.Host != "" && page.Host == r.Host {
			return nil
		}
	}
	return browserError()
}

// browserError returns the error for a call from a web page.
func browserError() error {
	return llm.Errorf(llm.BrowserNotAllowed, "This request seems to come from a web page, where every visitor could read the API key. Call Fairlead from a server, or set allow_browsers to true in the configuration.")
}

// maxTags limits the tags of one request, including those of its key.
const maxTags = 32

// readTags returns the tags of the key and of the request: X-Fairlead-Tags: a=b, c=d. Policies and cost reports rely on the key's tags.
// Therefore a request cannot replace a tag of the key, and cannot add a tag whose name differs only in case or spaces.
func readTags(ofKey map[string]string, h http.Header) map[string]string {
	header := h.Get("X-Fairlead-Tags")
	if header == "" {
		return ofKey
	}
	normalize := func(name string) string { return strings.ToLower(show.Shorten(strings.TrimSpace(name))) }
	all := map[string]string{}
	maps.Copy(all, ofKey)
	reserved := map[string]bool{}
	for name := range ofKey {
		reserved[normalize(name)] = true
	}
	for pair := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(pair, "=")
		name = show.Shorten(strings.TrimSpace(name))
		if name != "" && !reserved[normalize(name)] && len(all) < maxTags {
			all[name] = show.Shorten(strings.TrimSpace(value))
		}
	}
	return all
}

// Options holds what a client may set for a request in addition to its body. HTTP clients set them in headers.
type Options struct {
	DryRun   bool // whether to return the decision without calling a provider
	NoStore  bool // whether prompts and responses must not be stored
	Cache    responsecache.Header
	Tradeoff string // objective, as route.ParseObjective reads it
	Baseline string // model that the cost is compared with
	Session  string // session that the headers name
	Beta     string // optional features of the format, as in llm.Headers

	Trace  requestlog.TraceContext
	Client string // user agent, shortened
	IP     string
}

// readOptions reads the options of a request in a format. If the value of a header is invalid, it returns an error and the other
// options. If the header for storing is invalid, the options disable storing.
func readOptions(r *http.Request, format wire.Format) (o Options, err error) {
	h := r.Header
	if o.IP, _, err = net.SplitHostPort(r.RemoteAddr); err != nil {
		o.IP = r.RemoteAddr
	}
	o.Client, o.Tradeoff, o.Baseline = show.Shorten(r.UserAgent()), h.Get("X-Fairlead-Tradeoff"), show.ShortenName(h.Get("X-Fairlead-Baseline"))
	o.Session, o.Trace = session.FromHeader(h), requestlog.ReadTraceContext(h)
	if f, ok := format.(wire.FeatureHeader); ok {
		o.Beta = strings.Join(h.Values(f.FeatureHeader()), ",")
	}
	store, err := headerFlag(h, "X-Fairlead-Log-Body", true)
	if err != nil {
		o.NoStore = true
		return o, err
	}
	o.NoStore = !store
	if o.DryRun, err = headerFlag(h, "X-Fairlead-Dry-Run", false); err != nil {
		return o, err
	}
	o.Cache, err = responsecache.ReadHeader(h)
	return o, err
}

// headerFlag returns the value of a boolean header, or fallback when the header is absent or empty. It returns InvalidRequest for a
// repeated header, and for a value that is not a known spelling of true or false.
func headerFlag(h http.Header, name string, fallback bool) (bool, error) {
	values := h.Values(name)
	switch len(values) {
	case 0:
		return fallback, nil
	case 1:
		switch strings.ToLower(strings.TrimSpace(values[0])) {
		case "":
			return fallback, nil
		case "true", "t", "1", "yes", "y", "on":
			return true, nil
		case "false", "f", "0", "no", "n", "off":
			return false, nil
		}
	}
	e := llm.Errorf(llm.InvalidRequest, "Send the header %s once, with the value true or false.", name)
	e.Param = name
	return fallback, e
}
