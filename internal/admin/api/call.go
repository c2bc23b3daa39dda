package api

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

	"fairlead/internal/account"
	"fairlead/internal/llm"
	"fairlead/internal/spelling"
)

// Cookies of the dashboard.
const (
	SessionCookie = "fairlead_session" // token of a signed-in browser
	DeviceCookie  = "fairlead_device"  // token of a browser that has signed in before
)

const workspaceParam = "workspace"

type humaContext huma.Context // embedding huma.Context itself would hide its method Context

// call is one call of an operation: huma's view of the request, and who makes it.
type Call struct {
	humaContext
	request   *http.Request
	RequestID string
	Params    url.Values
	Secure    bool // the caller speaks https to us, or to a proxy that we trust
	Visitor   account.Visitor

	Account     account.Account // the person; zero when a key calls or nobody is signed in
	Session     account.Session
	Actor       account.Actor // who asks, in the workspace; zero for public and personal operations
	WorkspaceID string

	fault *llm.Error // what the answer is, when it is an error
}

type callKey struct{}

// Context carries the call to the handler that register wraps: huma passes on nothing else. Handlers get it as an
// argument.
func (c *Call) Context() context.Context {
	return context.WithValue(c.humaContext.Context(), callKey{}, c)
}

func callOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call) // guard has put it there, for every operation
	return c
}

// SetStatus answers with the error's own status; huma has others for some of them.
func (c *Call) SetStatus(status int) {
	if c.fault != nil {
		status = c.fault.Status()
	}
	c.humaContext.SetStatus(status)
}

// guard lets a call through to its operation when its caller may.
func (s *Server) guard(perm account.Permission) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		c := s.newCall(ctx, r, w)
		if err := s.admit(r, c, perm); err != nil {
			c.fault = s.ClientError(r.Context(), c, err)
			headers(w.Header(), c.fault)
			c.SetStatus(c.fault.Status())
			_, _ = w.Write(c.fault.Body(c.RequestID))
			return
		}
		next(c)
	}
}

func (s *Server) newCall(ctx huma.Context, r *http.Request, w http.ResponseWriter) *Call {
	c := &Call{humaContext: ctx, request: r, Params: r.URL.Query(), Visitor: s.visitor(r)}
	c.RequestID = w.Header().Get("X-Request-Id")
	c.Secure = r.TLS != nil || (s.TrustProxy && r.Header.Get("X-Forwarded-Proto") == "https")
	return c
}

// admit finds out who calls and whether they may.
func (s *Server) admit(r *http.Request, c *Call, perm account.Permission) error {
	if err := s.identify(r, c, perm); err != nil {
		return err
	}
	if perm != Public && perm != SignedIn && !c.Actor.May(perm) {
		return Denied(c.Actor, perm)
	}
	return checkParams(c)
}

// Readmit authenticates the caller of c again, for responses that outlive a session, a key or a role.
func (s *Server) Readmit(c *Call, perm account.Permission) (*Call, error) {
	again := &Call{humaContext: c.humaContext, Params: c.Params, Visitor: c.Visitor}
	return again, s.admit(c.request, again, perm)
}

// Unwrap returns the request and the response of the call.
func (c *Call) Unwrap() (*http.Request, http.ResponseWriter) { return humago.Unwrap(c.humaContext) }

// identify reads who calls: a key where there is an Authorization header, else a session.
func (s *Server) identify(r *http.Request, c *Call, perm account.Permission) error {
	if sendsKey(r) {
		return s.identifyKey(r, c, perm)
	}
	// A page elsewhere can make the browser send its cookie along, but no key.
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

// enter chooses the workspace: the one asked for, or the account's first.
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
		return llm.Errorf(llm.ScopeDenied, "This operation belongs to an account and cannot be called with an API key. Sign in instead.")
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

// noWorkspace has the words with which account answers for a workspace where one is no member.
func noWorkspace() error { return llm.Errorf(llm.NotFound, "Workspace not found.") }

func Denied(by account.Actor, perm account.Permission) error {
	if by.KeyID != "" {
		return llm.Errorf(llm.ScopeDenied, "This API key does not have the permission %s. Use a key with a scope that includes it.", perm).With("permission", perm)
	}
	return llm.Errorf(llm.PermissionDenied, "Your role in this workspace (%s) does not include the permission %s. Ask an owner or admin.", by.Role, perm).
		With("permission", perm)
}

// trustedOrigins refuses changes that a page of another site makes. The address under which people reach the
// dashboard may differ from the Host header that a proxy passes on.
func trustedOrigins(publicURL string) (*http.CrossOriginProtection, error) {
	protection := http.NewCrossOriginProtection()
	public, err := url.Parse(publicURL)
	if err != nil || public.Host == "" {
		return protection, err
	}
	return protection, protection.AddTrustedOrigin(public.Scheme + "://" + public.Host)
}

// sendsKey reports whether there is a bearer token; other schemes may belong to a proxy in front of us.
func sendsKey(r *http.Request) bool {
	return slices.ContainsFunc(r.Header.Values("Authorization"), func(value string) bool {
		scheme, _, _ := strings.Cut(strings.TrimSpace(value), " ")
		return strings.EqualFold(scheme, "bearer")
	})
}

// checkParams refuses parameters that the operation does not have, because a misspelt filter must not select
// everything, and values that no database can look for.
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
		case !slices.Contains(known, name):
			problems = append(problems, Problem{In: "query", Param: name, Message: "unknown parameter", Suggestion: spelling.Closest(name, known)})
		case slices.ContainsFunc(values, func(v string) bool { return !Storable(v) }):
			problems = append(problems, Problem{In: "query", Param: name, Message: "must be valid text"})
		}
	}
	if len(problems) > 0 {
		return InvalidAll(problems)
	}
	return nil
}

func Storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// visitor returns the address and client of a request, for the list of sessions. Neither is a credential.
func (s *Server) visitor(r *http.Request) account.Visitor {
	from, _ := netip.ParseAddrPort(r.RemoteAddr) // the zero address when it cannot be parsed
	v := account.Visitor{Client: r.UserAgent(), IP: from.Addr().Unmap().String()}
	if device, err := r.Cookie(DeviceCookie); err == nil {
		v.Device = device.Value
	}
	if hops := r.Header.Values("X-Forwarded-For"); s.TrustProxy && len(hops) > 0 {
		last := hops[len(hops)-1] // some proxies append to the header, others add a second one
		if hop := strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:]); hop != "" {
			v.IP = hop // written by our own proxy; earlier hops are claims of the client
		}
	}
	return v
}

// Keyring checks API keys; account.Keyring does it.
type Keyring interface {
	// Authenticate returns what the key in the Authorization header gives.
	Authenticate(h http.Header) (*account.Grant, error)
	// Touch notes that a key was used.
	Touch(keyID, client string, at time.Time)
}
