package accounts

import (
	"context"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/llm"
)

// SecondFactorView describes the second factor of the account.
type SecondFactorView struct {
	Enabled       bool `json:"enabled" doc:"Whether signing in with the password requires a second factor."`
	App           bool `json:"authenticator_app" doc:"Whether an authenticator app is set up."`
	Passkeys      int  `json:"passkeys" doc:"Number of registered passkeys."`
	RecoveryCodes int  `json:"recovery_codes" doc:"Number of unused recovery codes."`
}

// SecondFactorSetup is a new secret for an authenticator app. It is shown once.
type SecondFactorSetup struct {
	Secret string `json:"secret" doc:"Secret in base32, to enter by hand."`
	URI    string `json:"uri" doc:"otpauth:// address of the secret."`
	QR     string `json:"qr_svg" doc:"QR code of the address as SVG."`
}

// RecoveryCodes holds the recovery codes of the account. They are shown once.
type RecoveryCodes struct {
	Codes []string `json:"codes"`
}

func (a *handlers) registerFactor() {
	tags := []string{"account"}
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "get-second-factor", Method: http.MethodGet, Path: "/account/second-factor", Tags: tags,
		Summary: "Get the state of two-factor authentication",
	}, func(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[SecondFactorView], error) {
		state, err := a.Factors.State(ctx, c.Account.ID)
		if err != nil {
			return nil, err
		}
		return adminapi.Respond(SecondFactorView{Enabled: state.Enabled(), App: state.App, Passkeys: state.Passkeys, RecoveryCodes: state.Recovery}), nil
	})
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "start-second-factor", Method: http.MethodPost, Path: "/account/second-factor", Tags: tags,
		Summary: "Start setting up an authenticator app", DefaultStatus: http.StatusCreated,
		Description: "Returns a secret for an authenticator app. Sign-ins require a code after confirm-second-factor.",
	}, a.startFactor)
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "confirm-second-factor", Method: http.MethodPost, Path: "/account/second-factor/confirm", Tags: tags,
		Summary: "Set up an authenticator app", Description: "Requires a code of the authenticator app. Returns the recovery codes.",
	}, func(ctx context.Context, c *adminapi.Call, in *codeInput) (*adminapi.Output[RecoveryCodes], error) {
		codes, err := a.Factors.Confirm(ctx, c.Account.ID, in.Body.Code)
		if err != nil {
			return nil, err
		}
		return adminapi.Respond(RecoveryCodes{Codes: codes}), nil
	})
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "disable-second-factor", Method: http.MethodPost, Path: "/account/second-factor/disable", Tags: tags,
		Summary: "Remove the authenticator app", DefaultStatus: http.StatusNoContent,
		Description: "Requires the password. Without a passkey, the password alone signs in again and the recovery codes are deleted.",
	}, func(ctx context.Context, c *adminapi.Call, in *passwordInput) (*adminapi.NoContent, error) {
		if _, err := a.Profiles.ConfirmPassword(ctx, c.Account.ID, in.Body.Password, c.Visitor); err != nil {
			return nil, err
		}
		return nil, a.Factors.Disable(ctx, c.Account.ID)
	})
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "renew-recovery-codes", Method: http.MethodPost, Path: "/account/second-factor/recovery-codes", Tags: tags,
		Summary: "Replace the recovery codes", Description: "Requires the password. The old codes stop working.",
	}, func(ctx context.Context, c *adminapi.Call, in *passwordInput) (*adminapi.Output[RecoveryCodes], error) {
		if _, err := a.Profiles.ConfirmPassword(ctx, c.Account.ID, in.Body.Password, c.Visitor); err != nil {
			return nil, err
		}
		codes, err := a.Factors.RenewRecoveryCodes(ctx, c.Account.ID)
		if err != nil {
			return nil, err
		}
		return adminapi.Respond(RecoveryCodes{Codes: codes}), nil
	})
}

type passwordInput struct {
	Body struct {
		Password string `json:"password" maxLength:"1024" writeOnly:"true"`
	}
}

func (a *handlers) startFactor(ctx context.Context, c *adminapi.Call, in *passwordInput) (*adminapi.Output[SecondFactorSetup], error) {
	if !c.Account.HasPassword() {
		return nil, llm.Errorf(llm.Conflict, "This account has no password. The identity provider manages its second factor.")
	}
	person, err := a.Profiles.ConfirmPassword(ctx, c.Account.ID, in.Body.Password, c.Visitor)
	if err != nil {
		return nil, err
	}
	host := ""
	if base, err := url.Parse(c.BaseURL()); err == nil {
		host = base.Hostname()
	}
	setup, err := a.Factors.Begin(ctx, person, host)
	if err != nil {
		return nil, err
	}
	return adminapi.Respond(SecondFactorSetup{Secret: setup.Secret, URI: setup.URI, QR: setup.QR}), nil
}

type codeInput struct {
	Body struct {
		Code string `json:"code" maxLength:"100" writeOnly:"true"`
	}
}
