package accounts

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
)

// AccountView is the API representation of an account.
type AccountView struct {
	ID        string    `json:"id"`
	Email     string    `json:"email"`
	Name      string    `json:"name"`
	TimeZone  string    `json:"time_zone" doc:"IANA time zone name."`
	Password  bool      `json:"has_password" doc:"Whether the account can sign in with a password. False for accounts of the identity provider."`
	CreatedAt time.Time `json:"created_at"`
}

// BrowserSession is a session of the account.
type BrowserSession struct {
	ID        string    `json:"id"`
	Current   bool      `json:"current" doc:"Whether this is the session of the current request."`
	Client    string    `json:"client"`
	IP        string    `json:"ip"`
	Method    string    `json:"method" enum:"password,sso" doc:"How the browser signed in: password for a password or passkey of the account."`
	CreatedAt time.Time `json:"created_at"`
	SeenAt    time.Time `json:"seen_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

// BrowserSessionList holds the sessions of an account.
type BrowserSessionList struct {
	Sessions []BrowserSession `json:"sessions"`
}

func (a *handlers) registerAccount() {
	tags := []string{"account"}
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "get-account", Method: http.MethodGet, Path: "/account", Tags: tags,
		Summary: "Get your account",
	}, func(_ context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[AccountView], error) {
		return adminapi.Respond(accountView(c.Account)), nil
	})
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "update-account", Method: http.MethodPatch, Path: "/account", Tags: tags,
		Summary: "Change your name or time zone",
	}, func(ctx context.Context, c *adminapi.Call, in *updateAccountInput) (*adminapi.Output[AccountView], error) {
		changed, err := a.Profiles.UpdateAccount(ctx, c.Account.ID, account.ProfileChange{Name: in.Body.Name, TimeZone: in.Body.TimeZone})
		if err != nil {
			return nil, err
		}
		return adminapi.Respond(accountView(changed)), nil
	})
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "delete-account", Method: http.MethodPost, Path: "/account/delete", Tags: tags,
		Summary: "Delete your account", DefaultStatus: http.StatusNoContent,
		Description: "Workspaces with other members must have another owner. Revokes the API keys that the account created, and all keys of workspaces without remaining members.",
	}, func(ctx context.Context, c *adminapi.Call, in *deleteAccountInput) (*signedOut, error) {
		if err := a.Profiles.DeleteAccount(ctx, c.Account.ID, in.Body.Password, c.Visitor); err != nil {
			return nil, err
		}
		return &signedOut{SetCookie: cookie(c, adminapi.SessionCookie, "", 0)}, nil
	})
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "change-password", Method: http.MethodPost, Path: "/account/password", Tags: tags,
		Summary: "Change your password", Description: "Ends all sessions of the account and starts a new one for this browser.",
	}, func(ctx context.Context, c *adminapi.Call, in *changePasswordInput) (*cookieOutput[SessionView], error) {
		token, err := a.Profiles.ChangePassword(ctx, c.Account.ID, in.Body.OldPassword, in.Body.NewPassword, c.Visitor)
		if err != nil {
			return nil, err
		}
		return a.signedIn(ctx, c, token)
	})
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "list-sessions", Method: http.MethodGet, Path: "/account/sessions", Tags: tags,
		Summary: "List your sessions",
	}, a.listSessions)
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "end-session", Method: http.MethodDelete, Path: "/account/sessions/{id}", Tags: tags,
		Summary: "End a session", DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, c *adminapi.Call, in *sessionPath) (*adminapi.NoContent, error) {
		return nil, a.Sessions.EndSession(ctx, c.Account.ID, in.ID)
	})
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "end-other-sessions", Method: http.MethodDelete, Path: "/account/sessions", Tags: tags,
		Summary: "End all other sessions", Description: "The current session stays active.",
	}, a.endOtherSessions)
}

// EndedSessions holds the number of ended sessions.
type EndedSessions struct {
	Ended int `json:"ended"`
}

type updateAccountInput struct {
	Body struct {
		Name     *string `json:"name,omitempty" minLength:"1" maxLength:"100"`
		TimeZone *string `json:"time_zone,omitempty" maxLength:"100" doc:"IANA time zone name, such as Europe/Paris."`
	}
}

type deleteAccountInput struct {
	Body struct {
		Password string `json:"password" maxLength:"1024" writeOnly:"true"`
	}
}

type changePasswordInput struct {
	Body struct {
		OldPassword string `json:"old_password" maxLength:"1024" writeOnly:"true"`
		NewPassword string `json:"new_password" maxLength:"1024" writeOnly:"true"`
	}
}

func (a *handlers) listSessions(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[BrowserSessionList], error) {
	sessions, err := a.Sessions.Sessions(ctx, c.Account.ID)
	if err != nil {
		return nil, err
	}
	list := BrowserSessionList{Sessions: make([]BrowserSession, 0, len(sessions))}
	for _, s := range sessions {
		method := "password"
		if s.Issuer != "" {
			method = "sso"
		}
		list.Sessions = append(list.Sessions, BrowserSession{
			ID: s.ID(), Current: s.ID() == c.Session.ID(), Client: s.Client, IP: s.IP, Method: method,
			CreatedAt: s.CreatedAt.UTC(), SeenAt: s.SeenAt.UTC(), ExpiresAt: s.ExpiresAt.UTC(),
		})
	}
	return adminapi.Respond(list), nil
}

type sessionPath struct {
	ID string `path:"id" maxLength:"100" doc:"Session id."`
}

func (a *handlers) endOtherSessions(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[EndedSessions], error) {
	sessions, err := a.Sessions.Sessions(ctx, c.Account.ID)
	if err != nil {
		return nil, err
	}
	var done EndedSessions
	for _, s := range sessions {
		if s.ID() == c.Session.ID() {
			continue
		}
		err := a.Sessions.EndSession(ctx, c.Account.ID, s.ID())
		if errors.Is(err, account.ErrNotFound) {
			continue // the session expired after it was listed
		}
		if err != nil {
			return nil, err
		}
		done.Ended++
	}
	return adminapi.Respond(done), nil
}

func accountView(p account.Account) AccountView {
	return AccountView{ID: p.ID, Email: p.Email, Name: p.Name, TimeZone: p.TimeZone, Password: p.HasPassword(), CreatedAt: p.CreatedAt.UTC()}
}
