package accounts

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/passkey"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/llm"
)

const passkeyCookie = "fairlead_passkey"

// PasskeySite describes where passkeys can be used.
type PasskeySite struct {
	Available bool   `json:"available" doc:"Whether the gateway's address allows passkeys. Browsers also require that the dashboard is opened at origin."`
	Origin    string `json:"origin" doc:"Address at which passkeys work. Empty if the address is not known."`
	Reason    string `json:"reason,omitempty" enum:"no_public_url,not_https,ip_address" doc:"Why passkeys are not available: public_url is not configured, does not begin with https://, or contains an IP address."`
}

// PasskeyView is a passkey of the account.
type PasskeyView struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	CreatedAt  time.Time  `json:"created_at"`
	LastUsedAt *time.Time `json:"last_used_at" doc:"Last sign-in with the passkey. null if it was not used."`
	BackedUp   bool       `json:"backed_up" doc:"Whether a password manager or cloud account copies the passkey to other devices."`
	Host       string     `json:"host" doc:"Host name that the passkey is bound to."`
	Usable     bool       `json:"usable" doc:"False if the gateway's public_url has a different host name than the passkey."`
}

// PasskeyList holds the passkeys of an account.
type PasskeyList struct {
	Passkeys []PasskeyView `json:"passkeys"`
}

// PasskeyPrompt asks the browser for a passkey.
type PasskeyPrompt struct {
	Options json.RawMessage `json:"options" doc:"Options for PublicKeyCredential.parseCreationOptionsFromJSON or parseRequestOptionsFromJSON."`
}

// NewPasskey is a registered passkey.
type NewPasskey struct {
	Passkey PasskeyView `json:"passkey"`
	Codes   []string    `json:"codes" doc:"Recovery codes, shown once. Empty if the account had a second factor before."`
}

func (a *handlers) registerPasskeys() {
	tags := []string{"account"}
	adminapi.Register(a.Server, adminapi.Public, huma.Operation{
		OperationID: "start-passkey-sign-in", Method: http.MethodPost, Path: "/session/passkey", Tags: []string{"session"},
		Summary:     "Start a sign-in with a passkey",
		Description: "Returns a challenge and sets a cookie that binds it to the browser. The response of the passkey is sent to finish-passkey-sign-in, or to create-session as the second factor. A challenge is valid for five minutes and accepted once.",
	}, func(_ context.Context, c *adminapi.Call, _ *struct{}) (*cookieOutput[PasskeyPrompt], error) {
		p, err := a.Passkeys.BeginSignIn(c.BaseURL())
		return prompt(c, p, err)
	})
	adminapi.Register(a.Server, adminapi.Public, huma.Operation{
		OperationID: "finish-passkey-sign-in", Method: http.MethodPost, Path: "/session/passkey/verify", Tags: []string{"session"},
		Summary: "Sign in with a passkey", DefaultStatus: http.StatusCreated,
	}, a.finishPasskeySignIn)
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "list-passkeys", Method: http.MethodGet, Path: "/account/passkeys", Tags: tags,
		Summary: "List your passkeys",
	}, a.listPasskeys)
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "start-passkey", Method: http.MethodPost, Path: "/account/passkeys", Tags: tags,
		Summary: "Start adding a passkey", Description: "Requires the password. Returns a challenge and sets a cookie that binds it to the browser.",
	}, a.startPasskey)
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "finish-passkey", Method: http.MethodPost, Path: "/account/passkeys/finish", Tags: tags,
		Summary: "Add a passkey", DefaultStatus: http.StatusCreated,
		Description: "Takes the passkey that the browser created. Signing in with the password then requires a second factor. Returns recovery codes if the account had no second factor.",
	}, func(ctx context.Context, c *adminapi.Call, in *finishPasskeyInput) (*cookieOutput[NewPasskey], error) {
		added, err := a.Passkeys.FinishAdd(ctx, passkey.Owner{Account: c.Account, SessionID: c.Session.ID()}, passkey.Answer{
			Name: in.Body.Name, Response: in.Body.Response, Cookie: in.Challenge, RequestURL: c.BaseURL(),
		})
		if err != nil {
			return nil, err
		}
		view := NewPasskey{Passkey: passkeyView(added.Passkey, a.Passkeys.Site(c.BaseURL())), Codes: added.Codes}
		return &cookieOutput[NewPasskey]{SetCookie: []string{challengeCookie(c, "", 0)}, Body: view}, nil
	})
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "rename-passkey", Method: http.MethodPatch, Path: "/account/passkeys/{id}", Tags: tags,
		Summary: "Rename a passkey", DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, c *adminapi.Call, in *renamePasskeyInput) (*adminapi.NoContent, error) {
		return nil, a.PasskeyList.Rename(ctx, c.Account.ID, in.ID, in.Body.Name)
	})
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "remove-passkey", Method: http.MethodPost, Path: "/account/passkeys/{id}/remove", Tags: tags,
		Summary: "Remove a passkey", DefaultStatus: http.StatusNoContent,
		Description: "Requires the password. Without another passkey or authenticator app, the password alone signs in again and the recovery codes are deleted.",
	}, func(ctx context.Context, c *adminapi.Call, in *removePasskeyInput) (*adminapi.NoContent, error) {
		if _, err := a.Profiles.ConfirmPassword(ctx, c.Account.ID, in.Body.Password, c.Visitor); err != nil {
			return nil, err
		}
		return nil, a.PasskeyList.Remove(ctx, c.Account.ID, in.ID)
	})
}

func (a *handlers) site(c *adminapi.Call) PasskeySite {
	site := a.Passkeys.Site(c.BaseURL())
	return PasskeySite{Available: site.Unavailable == "", Origin: site.Origin, Reason: site.Unavailable}
}

func passkeyView(p passkey.Passkey, site passkey.Site) PasskeyView {
	v := PasskeyView{ID: p.ID, Name: p.Name, CreatedAt: p.CreatedAt, BackedUp: p.BackedUp(), Host: p.SiteID, Usable: site.Unavailable == "" && site.ID == p.SiteID}
	if !p.LastUsedAt.IsZero() {
		v.LastUsedAt = &p.LastUsedAt
	}
	return v
}

// prompt returns a challenge with its cookie.
func prompt(c *adminapi.Call, p passkey.Prompt, err error) (*cookieOutput[PasskeyPrompt], error) {
	if err != nil {
		return nil, err
	}
	set := challengeCookie(c, p.Cookie, passkey.FlowLife)
	return &cookieOutput[PasskeyPrompt]{SetCookie: []string{set}, Body: PasskeyPrompt{Options: p.Options}}, nil
}

// challengeCookie returns the cookie for a challenge. An empty value removes it.
func challengeCookie(c *adminapi.Call, value string, life time.Duration) string {
	made := http.Cookie{
		Name: passkeyCookie, Value: value, Path: adminapi.Prefix, HttpOnly: true, Secure: c.Secure, SameSite: http.SameSiteStrictMode,
		MaxAge: int(life.Seconds()),
	}
	if value == "" {
		made.MaxAge = -1
	}
	return made.String()
}

type passkeySignInInput struct {
	Challenge string `cookie:"fairlead_passkey" doc:"Challenge, encrypted."`
	Body      struct {
		Response json.RawMessage `json:"response" doc:"PublicKeyCredential of the browser in its JSON form."`
	}
}

func (a *handlers) finishPasskeySignIn(ctx context.Context, c *adminapi.Call, in *passkeySignInInput) (*cookieOutput[SessionView], error) {
	response := &account.PasskeyResponse{Response: in.Body.Response, Cookie: in.Challenge, RequestURL: c.BaseURL()}
	_, token, err := a.Sessions.SignIn(ctx, account.Credentials{Passkey: response}, c.Visitor)
	if err != nil {
		return nil, err
	}
	out, err := a.signedIn(ctx, c, token)
	if err != nil {
		return nil, err
	}
	out.SetCookie = append(out.SetCookie, challengeCookie(c, "", 0))
	return out, nil
}

func (a *handlers) listPasskeys(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[PasskeyList], error) {
	all, err := a.PasskeyList.Passkeys(ctx, c.Account.ID)
	if err != nil {
		return nil, err
	}
	list := PasskeyList{Passkeys: make([]PasskeyView, 0, len(all))}
	for _, p := range all {
		list.Passkeys = append(list.Passkeys, passkeyView(p, a.Passkeys.Site(c.BaseURL())))
	}
	return adminapi.Respond(list), nil
}

func (a *handlers) startPasskey(ctx context.Context, c *adminapi.Call, in *passwordInput) (*cookieOutput[PasskeyPrompt], error) {
	if !c.Account.HasPassword() {
		return nil, llm.Errorf(llm.Conflict, "This account has no password. The identity provider manages its passkeys.")
	}
	if _, err := a.Profiles.ConfirmPassword(ctx, c.Account.ID, in.Body.Password, c.Visitor); err != nil {
		return nil, err
	}
	p, err := a.Passkeys.BeginAdd(ctx, passkey.Owner{Account: c.Account, SessionID: c.Session.ID()}, c.BaseURL())
	return prompt(c, p, err)
}

type finishPasskeyInput struct {
	Challenge string `cookie:"fairlead_passkey" doc:"Challenge, encrypted."`
	Body      struct {
		Name     string          `json:"name" minLength:"1" maxLength:"100" doc:"Name in the list of passkeys."`
		Response json.RawMessage `json:"response" doc:"PublicKeyCredential of the browser in its JSON form."`
	}
}

type renamePasskeyInput struct {
	ID   string `path:"id"`
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"100"`
	}
}

type removePasskeyInput struct {
	ID string `path:"id"`
	passwordInput
}
