package gateway

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"fairlead/internal/account"
	"fairlead/internal/llm"
	"fairlead/internal/policy"
	"fairlead/internal/responsecache"
	"fairlead/internal/wire/show"
)

// caller is the authenticated sender of a request. Its grant is nil until authentication succeeds.
type caller struct {
	grant     *account.Grant
	accountID string            // of a dashboard user; such a request has no key
	tags      map[string]string // of the key and the request
	sample    bool              // sample traffic, always simulated
	policies  *policy.Set       // of sample traffic, in addition to those of the workspace; nil for none
}

// identifier returns the caller of a request. The grant may be set together with an error.
type identifier func(in *incoming) (caller, error)

// identifyKey authenticates the API key of a request.
func (g *Gateway) identifyKey(in *incoming) (caller, error) {
	if err := checkOrigin(in.http, in.settings); err != nil {
		return caller{}, err
	}
	grant, err := g.Keys.Authenticate(in.http.Header)
	if err != nil {
		return caller{}, err
	}
	g.Keys.Touch(grant.Key.ID, show.Shorten(in.http.UserAgent()), in.start)
	return caller{grant: grant, tags: tags(grant.Key.Tags, in.http.Header)}, checkScope(grant)
}

// checkScope rejects keys that may not use the model API.
func checkScope(grant *account.Grant) error {
	if !slices.Contains(grant.Key.Scopes, account.Inference) {
		return llm.Errorf(llm.ScopeDenied, "Key %q may not call models: it lacks the scope inference. Add the scope in API key settings, or use another key.", grant.Key.Name)
	}
	return nil
}

// checkOrigin rejects calls from a web page: every visitor could read the key. The dashboard may test a key that it has just created.
func checkOrigin(r *http.Request, s *Settings) error {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	// Node's fetch also sends Sec-Fetch-Mode: cors, but accepts any language and names no site, unlike browsers.
	node := r.Header.Get("Accept-Language") == "*" && site == ""
	fromPage := origin != "" || r.Header.Get("Sec-Fetch-Mode") == "cors" && !node
	if s.AllowBrowsers || !fromPage {
		return nil
	}
	if r.Header.Get("X-Fairlead-Dashboard") != "" {
		// The header alone proves nothing: the browser must report the same origin. On plain HTTP it does so only in Origin.
		page, err := url.Parse(origin)
		if site == "same-origin" || site == "" && err == nil && page.Host != "" && page.Host == r.Host {
			return nil
		}
	}
	return browserError()
}

func browserError() error {
	return llm.Errorf(llm.BrowserNotAllowed, "This looks like a call from a web page, where every visitor could read the API key. Call Fairlead from a server, or set allow_browsers.")
}

// maxTags limits the tags of one request, including those of its key.
const maxTags = 32

// tags returns the tags of the key and of the request: X-Fairlead-Tags: a=b, c=d. Policies and cost reports rely on the key's tags, so a
// request cannot replace one, nor add one whose name differs only in case or spaces.
func tags(ofKey map[string]string, h http.Header) map[string]string {
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

// flags are the options of a request that its headers set.
type flags struct {
	dryRun  bool // return the decision without calling a provider
	noStore bool // do not store the text
	cache   responsecache.Header
}

// readFlags reads the headers for a dry run, for storing text and for the response cache. If a value is invalid, it returns an error and flags that disable storing.
func readFlags(h http.Header) (flags, error) {
	store, err := headerFlag(h, "X-Fairlead-Log-Body", true)
	if err != nil {
		return flags{noStore: true}, err
	}
	dryRun, err := headerFlag(h, "X-Fairlead-Dry-Run", false)
	if err != nil {
		return flags{dryRun: dryRun, noStore: !store}, err
	}
	cache, err := responsecache.ReadHeader(h)
	return flags{dryRun: dryRun, noStore: !store, cache: cache}, err
}

// headerFlag returns the value of a boolean header, or fallback when the header is absent or empty. It returns InvalidRequest for a value
// that is not a known spelling of true or false, and for a repeated header.
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
	e := llm.Errorf(llm.InvalidRequest, "Header %s must be true or false, once.", name)
	e.Param = name
	return fallback, e
}
