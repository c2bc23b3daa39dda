package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/llm"
)

// Cookie lifetimes. The session itself can end earlier.
const (
	sessionLife = 30 * 24 * time.Hour
	deviceLife  = 365 * 24 * time.Hour
)

// SessionView describes the signed-in account, its permissions and the gateway.
type SessionView struct {
	Account    *AccountView     `json:"account,omitempty" doc:"Absent if the caller is not signed in."`
	Workspaces []MembershipView `json:"workspaces" doc:"Workspaces of the account, default first."`
	Server     ServerView       `json:"server"`
}

// MembershipView describes a workspace of the account and the permissions of the account in it.
type MembershipView struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Role        string   `json:"role" enum:"owner,admin,developer,viewer"`
	Operator    bool     `json:"operator" doc:"Whether members of this workspace operate the instance."`
	Permissions []string `json:"permissions" doc:"Permissions granted by the role."`
}

// ServerView describes the gateway to clients that are not signed in.
type ServerView struct {
	Version      string      `json:"version"`
	Simulated    bool        `json:"simulated" doc:"Whether the simulator is the only provider. Responses and costs are simulated."`
	Registration string      `json:"registration" enum:"invitation,open" doc:"Who can register after the first account."`
	SetupNeeded  bool        `json:"setup_needed" doc:"No account exists yet. Show the registration page."`
	PublicURL    string      `json:"public_url" doc:"Public URL of the gateway. Empty if not configured."`
	SSO          *SSOView    `json:"sso,omitempty" doc:"Single sign-on. Absent if it is not configured."`
	Passkeys     PasskeySite `json:"passkeys" doc:"Where passkeys can be used."`
	Time         time.Time   `json:"time"`
}

// SSOView describes single sign-on to clients that are not signed in.
type SSOView struct {
	Name string `json:"name" doc:"Name of the identity provider."`
	Only bool   `json:"only" doc:"Whether passwords are rejected."`
}

// cookieOutput is a response that sets cookies.
type cookieOutput[T any] struct {
	SetCookie []string `header:"Set-Cookie"`
	Body      T
}

type signedOut struct {
	SetCookie string `header:"Set-Cookie"`
}

func (a *handlers) registerSession() {
	tags := []string{"session"}
	adminapi.Register(a.Server, adminapi.Public, huma.Operation{
		OperationID: "get-session", Method: http.MethodGet, Path: "/session", Tags: tags,
		Summary: "Get the current account and information about the gateway",
	}, func(ctx context.Context, c *adminapi.Call, in *cookieInput) (*adminapi.Output[SessionView], error) {
		if in.Token != "" {
			if err := a.recall(ctx, c, in.Token); err != nil {
				return nil, err
			}
		}
		view, err := a.sessionView(ctx, c)
		if err != nil {
			return nil, err
		}
		return adminapi.Respond(view), nil
	})
	adminapi.Register(a.Server, adminapi.Public, huma.Operation{
		OperationID: "create-session", Method: http.MethodPost, Path: "/session", Tags: tags,
		Summary: "Sign in", DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, c *adminapi.Call, in *loginInput) (*cookieOutput[SessionView], error) {
		credentials := account.Credentials{Email: in.Body.Email, Password: in.Body.Password, Code: in.Body.Code}
		if len(in.Body.Passkey) > 0 && in.Body.Email != "" {
			credentials.Passkey = &account.PasskeyResponse{Response: in.Body.Passkey, Cookie: in.Challenge, RequestURL: c.BaseURL()}
		}
		_, token, err := a.Sessions.SignIn(ctx, credentials, c.Visitor)
		if err != nil {
			return nil, err
		}
		return a.signedIn(ctx, c, token)
	})
	adminapi.Register(a.Server, adminapi.Public, huma.Operation{
		OperationID: "delete-session", Method: http.MethodDelete, Path: "/session", Tags: tags,
		Summary: "Sign out", DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, c *adminapi.Call, in *cookieInput) (*signedOut, error) {
		if in.Token != "" {
			if err := a.Sessions.Logout(ctx, in.Token); err != nil {
				return nil, err
			}
		}
		return &signedOut{SetCookie: cookie(c, adminapi.SessionCookie, "", 0)}, nil
	})
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "list-workspaces", Method: http.MethodGet, Path: "/workspaces", Tags: []string{"workspaces"},
		Summary: "List your workspaces with roles and permissions",
	}, func(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[WorkspaceList], error) {
		list, err := a.membershipViews(ctx, c)
		if err != nil {
			return nil, err
		}
		return adminapi.Respond(WorkspaceList{Workspaces: list}), nil
	})
}

type cookieInput struct {
	Token string `cookie:"fairlead_session" doc:"Session token."`
}

// recall looks up the session of a token and stores it in the call. If the session is not valid, it leaves the call unchanged.
func (a *handlers) recall(ctx context.Context, c *adminapi.Call, token string) error {
	person, session, err := a.Sessions.Session(ctx, token)
	if fault, ok := errors.AsType[*llm.Error](err); ok && fault.Kind == llm.SignInRequired {
		return nil
	}
	c.Account, c.Session = person, session
	return err
}

type loginInput struct {
	Challenge string `cookie:"fairlead_passkey" doc:"Challenge of the passkey, encrypted."`
	Body      struct {
		Email    string          `json:"email" maxLength:"254"`
		Password string          `json:"password" maxLength:"1024" writeOnly:"true"`
		Code     string          `json:"code,omitempty" maxLength:"100" writeOnly:"true" doc:"Code of the authenticator app, or a recovery code. Required if the account has a second factor and no passkey is sent; without it the response is SECOND_FACTOR_REQUIRED, with the methods of the account in details.methods."`
		Passkey  json.RawMessage `json:"passkey,omitempty" doc:"Response of a passkey to start-passkey-sign-in, as the second factor: the PublicKeyCredential in its JSON form."`
	}
}

// signedIn returns a new session with its cookies.
func (a *handlers) signedIn(ctx context.Context, c *adminapi.Call, token string) (*cookieOutput[SessionView], error) {
	if err := a.recall(ctx, c, token); err != nil {
		return nil, err
	}
	view, err := a.sessionView(ctx, c)
	if err != nil {
		return nil, err
	}
	device := a.Sessions.DeviceToken(c.Account, c.Visitor.Device)
	cookies := []string{cookie(c, adminapi.SessionCookie, token, sessionLife), cookie(c, adminapi.DeviceCookie, device, deviceLife)}
	return &cookieOutput[SessionView]{SetCookie: cookies, Body: view}, nil
}

// cookie returns a cookie that scripts cannot read. An empty token removes the cookie.
func cookie(c *adminapi.Call, name, token string, life time.Duration) string {
	made := http.Cookie{
		Name: name, Value: token, Path: "/", HttpOnly: true, Secure: c.Secure, SameSite: http.SameSiteLaxMode,
		MaxAge: int(life.Seconds()),
	}
	if token == "" {
		made.MaxAge = -1
	}
	return made.String()
}

func (a *handlers) sessionView(ctx context.Context, c *adminapi.Call) (SessionView, error) {
	setup, err := a.Registrar.SetupNeeded(ctx)
	if err != nil {
		return SessionView{}, err
	}
	facts := a.Facts()
	v := SessionView{Workspaces: []MembershipView{}, Server: ServerView{
		Version: facts.Version, Simulated: facts.Simulated, Registration: facts.Registration,
		SetupNeeded: setup, PublicURL: facts.PublicURL, Passkeys: a.site(c), Time: a.Now().UTC(),
	}}
	if facts.SSO != "" {
		v.Server.SSO = &SSOView{Name: facts.SSO, Only: facts.SSOOnly}
	}
	if c.Account.ID == "" {
		return v, nil
	}
	v.Account = new(accountView(c.Account))
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

// WorkspaceList holds the workspaces of an account.
type WorkspaceList struct {
	Workspaces []MembershipView `json:"workspaces"`
}

// membershipViews lists the caller's workspaces with permissions.
func (a *handlers) membershipViews(ctx context.Context, c *adminapi.Call) ([]MembershipView, error) {
	memberships, err := a.Memberships.Workspaces(ctx, c.Account.ID)
	if err != nil {
		return nil, err
	}
	list := make([]MembershipView, 0, len(memberships))
	for _, m := range memberships {
		actor, err := a.Memberships.Actor(ctx, c.Account.ID, m.Workspace.ID)
		if err != nil {
			return nil, err
		}
		list = append(list, membershipView(m.Workspace.Name, actor))
	}
	return list, nil
}
