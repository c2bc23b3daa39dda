package admin

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead/internal/account"
	"fairlead/internal/llm"
)

// How long a browser keeps its cookies. The session itself may end earlier.
const (
	sessionLife = 30 * 24 * time.Hour
	deviceLife  = 365 * 24 * time.Hour
)

// SessionView says who is signed in, what they may do where, and what this gateway is.
type SessionView struct {
	Account    *AccountView     `json:"account,omitempty" doc:"Absent if the caller is not signed in."`
	Workspaces []MembershipView `json:"workspaces" doc:"Workspaces of the account, default first."`
	Server     ServerView       `json:"server"`
}

// MembershipView is a workspace of the account with what they may do there.
type MembershipView struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Role        string   `json:"role" enum:"owner,admin,developer,viewer"`
	Operator    bool     `json:"operator" doc:"Whether members of this workspace operate the instance."`
	Permissions []string `json:"permissions" doc:"Permissions granted by the role."`
}

// ServerView is what a visitor may know of the gateway before signing in.
type ServerView struct {
	Version      string    `json:"version"`
	Simulated    bool      `json:"simulated" doc:"Whether the simulator is the only provider. Responses and costs are simulated."`
	Samples      bool      `json:"samples" doc:"Whether sample traffic can be created. Requires the simulator."`
	Registration string    `json:"registration" enum:"invitation,open" doc:"Who can register after the first account."`
	SetupNeeded  bool      `json:"setup_needed" doc:"No account exists yet. Show the registration page."`
	PublicURL    string    `json:"public_url" doc:"Public URL of the gateway. Empty if not configured."`
	Time         time.Time `json:"time"`
}

// cookieOutput is an answer that signs in or out.
type cookieOutput[T any] struct {
	SetCookie []string `header:"Set-Cookie"`
	Body      T
}

type signedOut struct {
	SetCookie string `header:"Set-Cookie"`
}

func (a *API) registerSession() {
	tags := []string{"session"}
	register(a, Public, huma.Operation{
		OperationID: "get-session", Method: http.MethodGet, Path: "/session", Tags: tags,
		Summary: "Get the current account and information about the gateway",
	}, a.getSession)
	register(a, Public, huma.Operation{
		OperationID: "create-session", Method: http.MethodPost, Path: "/session", Tags: tags,
		Summary: "Sign in", DefaultStatus: http.StatusCreated,
	}, a.createSession)
	register(a, Public, huma.Operation{
		OperationID: "delete-session", Method: http.MethodDelete, Path: "/session", Tags: tags,
		Summary: "Sign out", DefaultStatus: http.StatusNoContent,
	}, a.deleteSession)
}

type cookieInput struct {
	Token string `cookie:"fairlead_session" doc:"Session token."`
}

func (a *API) getSession(ctx context.Context, c *call, in *cookieInput) (*output[SessionView], error) {
	if in.Token != "" {
		if err := a.recall(ctx, c, in.Token); err != nil {
			return nil, err
		}
	}
	view, err := a.sessionView(ctx, c)
	if err != nil {
		return nil, err
	}
	return &output[SessionView]{view}, nil
}

// recall loads the session of a token; one that is over is nobody's.
func (a *API) recall(ctx context.Context, c *call, token string) error {
	person, session, err := a.People.Session(ctx, token)
	if fault, ok := errors.AsType[*llm.Error](err); ok && fault.Kind == llm.SignInRequired {
		return nil
	}
	c.account, c.session = person, session
	return err
}

type loginInput struct {
	Body struct {
		Email    string `json:"email" maxLength:"254"`
		Password string `json:"password" maxLength:"1024" writeOnly:"true"`
	}
}

func (a *API) createSession(ctx context.Context, c *call, in *loginInput) (*cookieOutput[SessionView], error) {
	_, token, err := a.People.Login(ctx, in.Body.Email, in.Body.Password, c.visitor)
	if err != nil {
		return nil, err
	}
	return a.signedIn(ctx, c, token)
}

// signedIn answers with a new session and its cookie.
func (a *API) signedIn(ctx context.Context, c *call, token string) (*cookieOutput[SessionView], error) {
	if err := a.recall(ctx, c, token); err != nil {
		return nil, err
	}
	view, err := a.sessionView(ctx, c)
	if err != nil {
		return nil, err
	}
	device := a.People.DeviceToken(c.account, c.visitor.Device)
	cookies := []string{c.cookie(SessionCookie, token, sessionLife), c.cookie(DeviceCookie, device, deviceLife)}
	return &cookieOutput[SessionView]{SetCookie: cookies, Body: view}, nil
}

func (a *API) deleteSession(ctx context.Context, c *call, in *cookieInput) (*signedOut, error) {
	if in.Token != "" {
		if err := a.People.Logout(ctx, in.Token); err != nil {
			return nil, err
		}
	}
	return &signedOut{SetCookie: c.cookie(SessionCookie, "", 0)}, nil
}

// cookie stores a token where scripts cannot read it; an empty token removes the cookie.
func (c *call) cookie(name, token string, life time.Duration) string {
	cookie := http.Cookie{
		Name: name, Value: token, Path: "/", HttpOnly: true, Secure: c.secure, SameSite: http.SameSiteLaxMode,
		MaxAge: int(life.Seconds()),
	}
	if token == "" {
		cookie.MaxAge = -1
	}
	return cookie.String()
}

func (a *API) sessionView(ctx context.Context, c *call) (SessionView, error) {
	setup, err := a.People.SetupNeeded(ctx)
	if err != nil {
		return SessionView{}, err
	}
	facts := a.Instance.Facts()
	v := SessionView{Workspaces: []MembershipView{}, Server: ServerView{
		Version: facts.Version, Simulated: facts.Simulated, Samples: a.Samples != nil && a.Samples.Available(), Registration: facts.Registration,
		SetupNeeded: setup, PublicURL: a.PublicURL, Time: a.Now().UTC(),
	}}
	if c.account.ID == "" {
		return v, nil
	}
	v.Account = new(accountView(c.account))
	v.Workspaces, err = a.membershipViews(ctx, c)
	return v, err
}

func membershipView(name string, actor account.Actor) MembershipView {
	v := MembershipView{
		ID: actor.WorkspaceID, Name: name, Role: string(actor.Role), Operator: actor.Operator, Permissions: []string{},
	}
	for _, p := range account.Permissions() {
		if actor.May(p) {
			v.Permissions = append(v.Permissions, string(p))
		}
	}
	return v
}
