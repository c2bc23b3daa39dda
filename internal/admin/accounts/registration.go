package accounts

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
)

// RegistrationState describes what a registration requires.
type RegistrationState struct {
	SetupNeeded       bool   `json:"setup_needed" doc:"No account exists yet. The next account becomes the operator of this instance."`
	SetupCodeNeeded   bool   `json:"setup_code_needed" doc:"The first account requires the setup code that the gateway printed at startup."`
	Mode              string `json:"mode" enum:"invitation,open"`
	InvitationNeeded  bool   `json:"invitation_needed"`
	MinPasswordLength int    `json:"min_password_length"`
}

// minPassword is the minimum password length that package account enforces. The dashboard shows it.
const minPassword = 10

func (a *handlers) registerRegistration() {
	tags := []string{"session"}
	adminapi.Register(a.Server, adminapi.Public, huma.Operation{
		OperationID: "get-registration", Method: http.MethodGet, Path: "/registration", Tags: tags,
		Summary: "Get the registration requirements",
	}, func(ctx context.Context, _ *adminapi.Call, _ *struct{}) (*adminapi.Output[RegistrationState], error) {
		setup, err := a.Registrar.SetupNeeded(ctx)
		if err != nil {
			return nil, err
		}
		mode := a.Facts().Registration
		return adminapi.Respond(RegistrationState{
			SetupNeeded: setup, SetupCodeNeeded: setup, Mode: mode,
			InvitationNeeded: !setup && mode != account.RegistrationOpen, MinPasswordLength: minPassword,
		}), nil
	})
	adminapi.Register(a.Server, adminapi.Public, huma.Operation{
		OperationID: "create-registration", Method: http.MethodPost, Path: "/registration", Tags: tags,
		Summary: "Register an account", DefaultStatus: http.StatusCreated,
		Description: "Signs the account in, except for open registration without an invitation. In that case the response does not reveal whether the address already has an account; call create-session next.",
	}, func(ctx context.Context, c *adminapi.Call, in *registrationInput) (*cookieOutput[SessionView], error) {
		_, token, err := a.Registrar.Register(ctx, account.Registration{
			Email: in.Body.Email, Password: in.Body.Password, Name: in.Body.Name, Workspace: in.Body.Workspace,
			SetupCode: in.Body.SetupCode, Invitation: in.Body.Invitation, Visitor: c.Visitor,
		})
		if err != nil {
			return nil, err
		}
		if token == "" {
			view, err := a.sessionView(ctx, c)
			return &cookieOutput[SessionView]{Body: view}, err
		}
		return a.signedIn(ctx, c, token)
	})
}

type registrationInput struct {
	Body struct {
		Email      string `json:"email" maxLength:"254"`
		Password   string `json:"password" maxLength:"1024" writeOnly:"true"`
		Name       string `json:"name,omitempty" maxLength:"100"`
		Workspace  string `json:"workspace,omitempty" maxLength:"100" doc:"Name of the workspace to create. Derived from the account name when empty."`
		SetupCode  string `json:"setup_code,omitempty" maxLength:"100"`
		Invitation string `json:"invitation,omitempty" maxLength:"200" doc:"Invitation token. The account joins the workspace of the invitation, and no workspace is created."`
	}
}
