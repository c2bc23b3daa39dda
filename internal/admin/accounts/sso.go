package accounts

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/sso"
)

// Paths of single sign-on, relative to adminapi.Prefix.
const (
	ssoPath      = "/sso"
	callbackPath = ssoPath + "/callback"
)

// redirectOutput sends the browser to another address.
type redirectOutput struct {
	Status    int
	Location  string   `header:"Location"`
	SetCookie []string `header:"Set-Cookie"`
}

func (a *handlers) registerSSO() {
	tags := []string{"session"}
	adminapi.Register(a.Server, adminapi.Public, huma.Operation{
		OperationID: "start-sso", Method: http.MethodGet, Path: ssoPath + "/sign-in", Tags: tags, DefaultStatus: http.StatusSeeOther,
		Summary: "Sign in through the identity provider", Description: "For browsers: redirects to the identity provider, which redirects to the callback.",
	}, func(ctx context.Context, c *adminapi.Call, in *startSSOInput) (*redirectOutput, error) {
		to, err := a.SSO.Begin(ctx, c.BaseURL()+adminapi.Prefix+callbackPath, in.Return, c.Visitor)
		if err != nil {
			return refusedSSO(c, err)
		}
		return &redirectOutput{Status: http.StatusSeeOther, Location: to.URL, SetCookie: []string{flowCookie(c, to.Cookie, sso.FlowLife)}}, nil
	})
	adminapi.Register(a.Server, adminapi.Public, huma.Operation{
		OperationID: "finish-sso", Method: http.MethodGet, Path: callbackPath, Tags: tags, DefaultStatus: http.StatusSeeOther,
		Summary:     "Finish a sign-in through the identity provider",
		Description: "The identity provider redirects browsers here. Redirects to the dashboard: with a session, or to /sign-in?sso=REASON if the sign-in was refused.",
		Metadata:    map[string]any{adminapi.AnyQuery: true}, // providers add parameters such as session_state
	}, func(ctx context.Context, c *adminapi.Call, in *finishSSOInput) (*redirectOutput, error) {
		done, err := a.SSO.Finish(ctx, sso.Callback{
			Code: in.Code, State: in.State, Error: in.Error, ErrorText: in.ErrorText, Issuer: in.Issuer, Cookie: in.Flow,
		}, c.Visitor)
		if err != nil {
			return refusedSSO(c, err)
		}
		return &redirectOutput{Status: http.StatusSeeOther, Location: done.Return, SetCookie: []string{
			cookie(c, adminapi.SessionCookie, done.Token, sessionLife), flowCookie(c, "", 0),
		}}, nil
	})
}

type startSSOInput struct {
	Return string `query:"return" maxLength:"1024" doc:"Path of the dashboard to open after the sign-in."`
}

type finishSSOInput struct {
	Code      string `query:"code" maxLength:"8192"`
	State     string `query:"state" maxLength:"200"`
	Error     string `query:"error" maxLength:"200"`
	ErrorText string `query:"error_description" maxLength:"4096"`
	Issuer    string `query:"iss" maxLength:"2048"`
	Flow      string `cookie:"fairlead_sso" doc:"Sign-in in progress, encrypted."`
}

// refusedSSO sends the browser to the sign-in page, which shows the reason.
func refusedSSO(c *adminapi.Call, err error) (*redirectOutput, error) {
	refusal, ok := errors.AsType[*sso.RefusalError](err)
	if !ok {
		return nil, err
	}
	return &redirectOutput{
		Status: http.StatusSeeOther, Location: "/sign-in?sso=" + url.QueryEscape(string(refusal.Reason)), SetCookie: []string{flowCookie(c, "", 0)},
	}, nil
}

// flowCookie returns the cookie for a sign-in in progress. It is sent only to the single sign-on operations. An empty value removes it.
func flowCookie(c *adminapi.Call, value string, life time.Duration) string {
	made := http.Cookie{
		Name: "fairlead_sso", Value: value, Path: adminapi.Prefix + ssoPath, HttpOnly: true, Secure: c.Secure, SameSite: http.SameSiteLaxMode,
		MaxAge: int(life.Seconds()),
	}
	if value == "" {
		made.MaxAge = -1
	}
	return made.String()
}
