package adminapi

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/spelling"
)

// Cookies set by the dashboard.
const (
	SessionCookie = "fairlead_session" // token of a signed-in browser
	DeviceCookie  = "fairlead_device"  // token of a browser that has signed in before
)

const workspaceParam = "workspace"

// AnyQuery is the metadata key for an operation that ignores unknown query parameters, because another system chooses them.
const AnyQuery = "any_query"

type humaContext huma.Context // embedding huma.Context directly would hide its Context method

// Call is one request to an operation, with its caller.
type Call struct {
	humaContext
	request   *http.Request
	baseURL   string // address of the gateway, for links
	RequestID string
	Params    url.Values
	Secure    bool // whether the client uses HTTPS, directly or through a trusted proxy
	Visitor   account.Visitor

	Account     account.Account // signed-in account; zero for a key or a visitor without a session
	Session     account.Session
	Actor       account.Actor // permissions in the workspace; zero for operations without a workspace
	WorkspaceID string

	fault *llm.Error // the error response, if any
}

type callKey struct{}

// Context returns a context that contains the call. huma passes only a context to handlers. The wrapper added by Register reads the
// call from that context and passes it to the handler.
func (c *Call) Context() context.Context {
	return context.WithValue(c.humaContext.Context(), callKey{}, c)
}

// BaseURL returns the address of the gateway for links.
func (c *Call) BaseURL() string { return c.baseURL }

// ErrorBody encodes an error for the caller. It has no log_url, because requests to this API have no log entry.
func (c *Call) ErrorBody(e *llm.Error) []byte { return e.Linked(c.baseURL, "").Body(c.RequestID) }

// SetStatus sets the status of the response. For an error response it uses the status of the error instead, because huma sets a
// different status for some errors.
func (c *Call) SetStatus(status int) {
	if c.fault != nil {
		status = c.fault.Status()
	}
	c.humaContext.SetStatus(status)
}

// guard returns a middleware that rejects callers without the permission.
func (s *Server) guard(perm account.Permission) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		c := &Call{
			humaContext: ctx, request: r, baseURL: s.baseURL(r), RequestID: w.Header().Get("X-Request-Id"), Params: r.URL.Query(), Visitor: s.visitor(r),
			Secure: r.TLS != nil || (s.TrustProxy && r.Header.Get("X-Forwarded-Proto") == "https"),
		}
		if err := s.admit(r, c, perm); err != nil {
			c.fault = s.ClientError(r.Context(), c, err)
			headers(w.Header(), c.fault)
			c.SetStatus(c.fault.Status())
			_, _ = w.Write(c.ErrorBody(c.fault))
			return
		}
		next(c)
	}
}

// admit authenticates the caller and checks the permission and the parameters.
func (s *Server) admit(r *http.Request, c *Call, perm account.Permission) error {
	if err := s.identify(r, c, perm); err != nil {
		return err
	}
	if perm != Public && perm != SignedIn && !c.Actor.May(perm) {
		return Denied(c.Actor, perm)
	}
	return checkParams(c)
}

// Readmit authenticates the caller of c again. Long-running responses use it, because the session can end, the key can be revoked
// and the role can change.
func (s *Server) Readmit(c *Call, perm account.Permission) (*Call, error) {
	fresh := &Call{humaContext: c.humaContext, Params: c.Params, Visitor: c.Visitor}
	return fresh, s.admit(c.request, fresh, perm)
}

// Unwrap returns the request and the response of the call.
func (c *Call) Unwrap() (*http.Request, http.ResponseWriter) { return humago.Unwrap(c.humaContext) }

// identify authenticates the caller by the key in the Authorization header, or by the session.
func (s *Server) identify(r *http.Request, c *Call, perm account.Permission) error {
	bearer := slices.ContainsFunc(r.Header.Values("Authorization"), func(value string) bool {
		scheme, _, _ := strings.Cut(strings.TrimSpace(value), " ")
		return strings.EqualFold(scheme, "bearer") // other schemes can be meant for a proxy
	})
	if bearer {
		return s.identifyKey(r, c, perm)
	}
	// Browsers send cookies with cross-origin requests, so a request that is authenticated by a cookie must come from the same
	// origin. Requests with an API key do not need this check.
	if err := s.origins.Check(r); err != nil {
		return &llm.Error{Kind: llm.CrossOrigin, Message: "The request came from another origin and was rejected. Use the dashboard at its configured public_url.", Err: err}
	}
	if perm == Public {
		return nil
	}
	cookie, err := r.Cookie(SessionCookie)
	if err != nil {
		return llm.Errorf(llm.SignInRequired, "Sign in, or send an API key with the read or manage scope as Authorization: Bearer fl_….")
	}
	if c.Account, c.Session, err = s.Sessions.Session(r.Context(), cookie.Value); err != nil {
		return err
	}
	if perm == SignedIn {
		return nil
	}
	return s.enter(r.Context(), c, c.Params.Get(workspaceParam))
}

// enter selects the requested workspace, or the first workspace of the account.
func (s *Server) enter(ctx context.Context, c *Call, workspaceID string) error {
	if workspaceID == "" {
		memberships, err := s.Memberships.Workspaces(ctx, c.Account.ID)
		if err != nil {
			return err
		}
		if len(memberships) == 0 {
			return llm.Errorf(llm.NotFound, "You are not a member of any workspace. Create one, or ask for an invitation.")
		}
		workspaceID = memberships[0].Workspace.ID
	}
	if !Storable(workspaceID) {
		return noWorkspace()
	}
	actor, err := s.Memberships.Actor(ctx, c.Account.ID, workspaceID)
	c.Actor, c.WorkspaceID = actor, actor.WorkspaceID
	return err
}

func (s *Server) identifyKey(r *http.Request, c *Call, perm account.Permission) error {
	if perm == Public {
		return nil
	}
	grant, err := s.Keyring.Authenticate(r.Header)
	if err != nil {
		return err
	}
	if perm == SignedIn {
		return llm.Errorf(llm.ScopeDenied, "This operation requires a signed-in user and cannot be called with an API key. Sign in instead.")
	}
	actor, err := s.Memberships.KeyActor(r.Context(), grant.Key)
	if err != nil {
		return err
	}
	s.Keyring.Touch(grant.Key.ID, c.Visitor.Client, s.Now())
	if asked := c.Params.Get(workspaceParam); asked != "" && asked != actor.WorkspaceID {
		return noWorkspace()
	}
	c.Actor, c.WorkspaceID = actor, actor.WorkspaceID
	return nil
}

// noWorkspace returns the error that package account returns for a workspace that the account is not a member of.
func noWorkspace() error { return llm.Errorf(llm.NotFound, "Workspace not found.") }

// Denied returns the error for a caller without a permission.
func Denied(by account.Actor, perm account.Permission) error {
	if by.KeyID != "" && by.Role != "" {
		return llm.Errorf(llm.ScopeDenied, "This API key does not have the %q permission. Its scopes and the role of its creator (%s) must include it.", perm, by.Role).With("permission", perm)
	}
	if by.KeyID != "" {
		return llm.Errorf(llm.ScopeDenied, "This API key does not have the %q permission. Use a key with a scope that includes it.", perm).With("permission", perm)
	}
	return llm.Errorf(llm.PermissionDenied, "Your role in this workspace (%s) does not include the %q permission. Ask an owner or admin.", by.Role, perm).
		With("permission", perm)
}

// checkParams rejects unknown query parameters, because a misspelt filter would otherwise select everything. It also rejects
// values that a database cannot store.
func checkParams(c *Call) error {
	known := []string{}
	for _, p := range c.Operation().Parameters {
		if p.In == "query" {
			known = append(known, p.Name)
		}
		if p.In == "path" && !Storable(c.Param(p.Name)) {
			return NotFound()
		}
	}
	problems := []Problem{}
	for name, values := range c.Params {
		switch {
		case !slices.Contains(known, name) && c.Operation().Metadata[AnyQuery] == true:
			continue
		case !slices.Contains(known, name):
			problems = append(problems, Problem{In: "query", Param: name, Message: "unknown parameter", Suggestion: spelling.Closest(name, known)})
		case slices.ContainsFunc(values, func(v string) bool { return !Storable(v) }):
			problems = append(problems, Problem{In: "query", Param: name, Message: "must be valid UTF-8"})
		}
	}
	if len(problems) > 0 {
		return InvalidAll(problems)
	}
	return nil
}

// Storable reports whether a database can store s as text.
func Storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// visitor returns the address and client of a request. They are displayed in the session list and not used for authentication.
func (s *Server) visitor(r *http.Request) account.Visitor {
	from, _ := netip.ParseAddrPort(r.RemoteAddr) // zero address if it cannot be parsed
	v := account.Visitor{Client: r.UserAgent(), IP: from.Addr().Unmap().String()}
	if device, err := r.Cookie(DeviceCookie); err == nil {
		v.Device = device.Value
	}
	if hops := r.Header.Values("X-Forwarded-For"); s.TrustProxy && len(hops) > 0 {
		last := hops[len(hops)-1] // some proxies append to the header, others add a second header
		if hop := strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:]); hop != "" {
			v.IP = hop // set by the trusted proxy; earlier hops are set by the client
		}
	}
	return v
}

// Keyring authenticates API keys.
type Keyring interface {
	// Authenticate returns the key given in the headers, with its workspace.
	Authenticate(h http.Header) (*account.Grant, error)
	// Touch records the use of a key.
	Touch(keyID, client string, at time.Time)
}
