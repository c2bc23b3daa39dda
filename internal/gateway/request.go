package gateway

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"fairlead/internal/account"
	"fairlead/internal/limit"
	"fairlead/internal/llm"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// admitOrigin refuses calls that a web page made: a key inside a page belongs to everybody who opens it.
func (g *Gateway) admitOrigin(x *exchange) error {
	if !x.settings.AllowBrowsers && fromPage(x.r.Header) && !fromDashboard(x.r) {
		return browserRefused()
	}
	return nil
}

// fromPage reports whether a web page made the call. The fetch of Node says Sec-Fetch-Mode: cors as well, but it takes any
// language and names no site, which no browser does.
func fromPage(h http.Header) bool {
	if h.Get("Origin") != "" {
		return true
	}
	node := h.Get("Accept-Language") == "*" && h.Get("Sec-Fetch-Site") == ""
	return h.Get("Sec-Fetch-Mode") == "cors" && !node
}

// fromDashboard reports whether our own dashboard tries a key that it has just made. Its header alone proves nothing: the
// page must be of this origin, which the browser tells, on plain HTTP only by the Origin header.
func fromDashboard(r *http.Request) bool {
	if r.Header.Get("X-Fairlead-Dashboard") == "" {
		return false
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	origin, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && origin.Host != "" && origin.Host == r.Host
}

func browserRefused() error {
	return llm.Errorf(llm.BrowserNotAllowed, "This looks like a call from a web page, where the API key would be visible to everybody. Call Fairlead from a server, or set allow_browsers.")
}

// byKey finds whose key it is; from here on the request has an entry.
func (g *Gateway) byKey(x *exchange) error {
	if err := g.admitOrigin(x); err != nil {
		return err
	}
	grant, err := g.Keys.Authenticate(x.r.Header)
	if err != nil {
		return err
	}
	x.grant = grant
	e := x.entry
	e.WorkspaceID, e.KeyID, e.KeyName, e.Tags = grant.Workspace.ID, grant.Key.ID, grant.Key.Name, tags(grant.Key.Tags, x.r.Header)
	g.Keys.Touch(grant.Key.ID, e.Client, x.start)
	return mayInfer(grant)
}

// mayInfer refuses keys that are not for the model API.
func mayInfer(grant *account.Grant) error {
	if !slices.Contains(grant.Key.Scopes, account.Inference) {
		return llm.Errorf(llm.ScopeDenied, "Key %q may not call models: it lacks the scope inference. Add the scope in API key settings, or use another key.", grant.Key.Name)
	}
	return nil
}

// byPerson lets somebody in whose session was checked already. No key's rules apply, the workspace's do.
func byPerson(workspace *account.Workspace, accountID string) func(*exchange) error {
	return func(x *exchange) error {
		x.grant = &account.Grant{Key: &account.Key{ID: accountID, WorkspaceID: workspace.ID, Name: "playground"}, Workspace: workspace}
		x.entry.WorkspaceID, x.entry.AccountID, x.entry.Tags = workspace.ID, accountID, tags(nil, x.r.Header)
		return nil
	}
}

// bySample lets sample traffic in. Its money is as made up as its answers, so no budget pays for it, and what never
// reaches a target is simulated all the same.
func bySample(workspace *account.Workspace, models []string) func(*exchange) error {
	return func(x *exchange) error {
		free := *workspace
		free.Budget = nil
		x.grant = &account.Grant{
			Key:       &account.Key{ID: requestlog.SampleKey, WorkspaceID: workspace.ID, Name: requestlog.SampleKeyName, AllowedModels: models},
			Workspace: &free,
		}
		e := x.entry
		e.WorkspaceID, e.KeyID, e.KeyName, e.Tags = workspace.ID, requestlog.SampleKey, requestlog.SampleKeyName, tags(nil, x.r.Header)
		e.Simulated = true
		return nil
	}
}

// tags returns the key's tags and those of the request: X-Fairlead-Tags: a=b, c=d. Policies and cost reports rely on
// the key's tags, so a request cannot replace one, nor add one whose name differs only in case or spaces.
func tags(ofKey map[string]string, h http.Header) map[string]string {
	header := h.Get("X-Fairlead-Tags")
	if header == "" {
		return ofKey
	}
	all := map[string]string{}
	maps.Copy(all, ofKey)
	reserved := map[string]bool{}
	for name := range ofKey {
		reserved[tagName(name)] = true
	}
	for pair := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(pair, "=")
		name = shorten(strings.TrimSpace(name))
		if name != "" && !reserved[tagName(name)] && len(all) < maxTags {
			all[name] = shorten(strings.TrimSpace(value))
		}
	}
	return all
}

// maxTags bounds the tags of one request, those of its key included.
const maxTags = 32

// tagName is the form in which tag names are compared.
func tagName(name string) string { return strings.ToLower(shorten(strings.TrimSpace(name))) }

// readRequest reads and checks the body. The bytes count against the memory that all requests share until release.
func (g *Gateway) readRequest(x *exchange) (release func(), err error) {
	body, release, err := g.readBody(x)
	if err != nil {
		return nil, err
	}
	req, err := g.decode(x, body)
	if err != nil {
		release()
		return nil, err
	}
	x.req = req
	if x.op != llm.Count { // counting uses no tokens of a model
		x.length = estimate(req)
	}
	e := x.entry
	e.BytesIn, e.Requested, e.Stream = int64(len(body)), req.Model, req.Stream
	e.EndUser, e.Metadata = req.EndUser, req.Metadata
	e.Session = session(req, x.r.Header)
	x.req.Controls.SessionID = e.Session
	x.req.Beta = x.r.Header.Get("Anthropic-Beta")
	if e.BodyState = x.bodyState(); x.storesText() {
		e.Preview, e.Body = req.Preview, requestlog.Body{Request: body}
	}
	if x.w.stream = req.Stream && writes(x.op); x.w.stream {
		x.w.keepAlive(x.settings.Hold, x.settings.Ping)
	}
	return release, nil
}

// decode parses the body after acquiring a CPU slot. It returns Overloaded when the admission queue is full. A large body
// needs no slot: smaller requests would wait for it.
func (g *Gateway) decode(x *exchange, body []byte) (*llm.Request, error) {
	if len(body) < largeBody {
		err := g.Admission.Acquire(x.r.Context(), x.grant.Key.ID)
		if errors.Is(err, limit.ErrOverloaded) {
			return nil, overloaded("The gateway is overloaded. Retry in 1 second.")
		}
		if err == nil {
			defer g.Admission.Release()
		}
	}
	if err := x.connected(); err != nil {
		return nil, err
	}
	req, err := x.format.DecodeRequest(x.r.Context(), x.op, body)
	if err != nil {
		return nil, err
	}
	req.Model = route.AsAuto(req.Model)
	req.Measure()
	return req, x.connected()
}

// connected reports a client that has left, so that no further work is done for it.
//
//nolint:contextcheck,nolintlint // the context of the HTTP request shows whether the client is connected
func (x *exchange) connected() error {
	return llm.Cancelled(x.r.Context())
}

// session is what the caller calls the conversation, in any of the ways that agents do.
func session(req *llm.Request, h http.Header) string {
	if req.Controls.SessionID != "" {
		return shorten(req.Controls.SessionID)
	}
	for _, name := range []string{"X-Fairlead-Session", "X-Claude-Code-Session-Id", "X-Session-Id", "Session-Id", "Session_id", "Conversation_id"} {
		if s := h.Get(name); s != "" {
			return shorten(s)
		}
	}
	return ""
}

// readError says why a body could not be read. What neither the connection nor its end explains was not sent as HTTP has it.
func readError(r *http.Request, err error, limit int64) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(limit)
	}
	if _, broken := errors.AsType[net.Error](err); broken || errors.Is(err, io.ErrUnexpectedEOF) || r.Context().Err() != nil {
		return &llm.Error{Kind: llm.ClientCancelled, Message: "The client stopped sending before the request was complete.", Err: err}
	}
	return &llm.Error{Kind: llm.InvalidRequest, Message: "The body cannot be read: its chunks are malformed.", Err: err}
}

func tooLarge(limit int64) error {
	return llm.Errorf(llm.PayloadTooLarge, "The request body is larger than the limit of %s. Send less, or raise limits.body.", bytesText(limit)).
		With("limit_bytes", limit)
}

func bytesText(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", max(1, n>>10))
}

// checkMedia admits JSON in any usual spelling, and nothing compressed.
func checkMedia(h http.Header) error {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return llm.Errorf(llm.UnsupportedMediaType, "Content-Encoding %q is not taken. Send the body uncompressed.", shorten(encoding))
	}
	if h.Get("Content-Type") == "application/json" {
		return nil // as nearly everybody writes it
	}
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err == nil && (media == "application/json" || strings.HasSuffix(media, "+json")) {
		return nil
	}
	return llm.Errorf(llm.UnsupportedMediaType, "Content-Type %q is not JSON. Send the body with Content-Type: application/json.", shorten(h.Get("Content-Type")))
}

// readFlags reads the headers that switch a dry run on or storing text off. An unclear value is rejected, and no text is stored.
func (x *exchange) readFlags() error {
	keepText, err := headerFlag(x.r.Header, "X-Fairlead-Log-Body", true)
	x.noText = err != nil || !keepText
	if err != nil {
		return err
	}
	x.dry, err = headerFlag(x.r.Header, "X-Fairlead-Dry-Run", false)
	return err
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

// address is where the request came from, without the port.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// traceID is the trace that a traceparent header names.
func traceID(r *http.Request) string {
	header := r.Header.Get("Traceparent")
	if strings.Count(header, "-") != 3 {
		return ""
	}
	_, rest, _ := strings.Cut(header, "-")
	if id, _, _ := strings.Cut(rest, "-"); len(id) == 32 {
		return id
	}
	return ""
}
