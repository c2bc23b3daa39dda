package providers

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/llm"
)

const fromDashboard = "dashboard"

func (a *handlers) registerCredentials() {
	tags := []string{"providers"}
	adminapi.Register(a.Server, account.ConnectProviders, huma.Operation{
		OperationID: "add-credential", Method: http.MethodPost, Path: "/providers/{name}/credentials", Tags: tags,
		Summary: "Add a credential to a provider", DefaultStatus: http.StatusCreated,
		Description: "The credential is stored encrypted, sent only to this provider, and never returned.",
	}, func(ctx context.Context, c *adminapi.Call, in *addCredentialInput) (*adminapi.Output[CredentialView], error) {
		if a.Credentials == nil {
			return nil, llm.Errorf(llm.Conflict, "On this instance, credentials can be set only in the configuration.")
		}
		added, err := a.Credentials.AddCredential(ctx, in.Name, in.Body.Secret, c.Actor.AccountID)
		if err != nil {
			return nil, err
		}
		view := credentialView(added)
		if err := a.Record(ctx, c.Actor, "credential.add", in.Name+"/"+added.ID, nil, view); err != nil {
			return nil, err
		}
		return adminapi.Respond(view), nil
	})
	adminapi.Register(a.Server, account.ConnectProviders, huma.Operation{
		OperationID: "rotate-credential", Method: http.MethodPost, Path: "/providers/{name}/credentials/{id}/rotate", Tags: tags,
		Summary:     "Replace the secret of a credential that was added in the dashboard",
		Description: "The new secret is used from the next request on. The credential keeps its ID.",
	}, func(ctx context.Context, c *adminapi.Call, in *rotateCredentialInput) (*adminapi.Output[CredentialView], error) {
		if err := a.stored(&in.CredentialPath, "Change"); err != nil {
			return nil, err
		}
		changed, err := a.Credentials.ReplaceCredential(ctx, in.Name, in.ID, in.Body.Secret, c.Actor.AccountID)
		if err != nil {
			return nil, err
		}
		view := credentialView(changed)
		if err := a.Record(ctx, c.Actor, "credential.rotate", in.Name+"/"+in.ID, nil, view); err != nil {
			return nil, err
		}
		return adminapi.Respond(view), nil
	})
	adminapi.Register(a.Server, account.ConnectProviders, huma.Operation{
		OperationID: "remove-credential", Method: http.MethodDelete, Path: "/providers/{name}/credentials/{id}", Tags: tags,
		Summary: "Remove a credential that was added in the dashboard",
	}, func(ctx context.Context, c *adminapi.Call, in *CredentialPath) (*adminapi.NoContent, error) {
		if err := a.stored(in, "Remove"); err != nil {
			return nil, err
		}
		if err := a.Credentials.RemoveCredential(ctx, in.Name, in.ID); err != nil {
			return nil, err
		}
		return nil, a.Record(ctx, c.Actor, "credential.remove", in.Name+"/"+in.ID, nil, nil)
	})
}

type addCredentialInput struct {
	ProviderPath
	Body struct {
		Secret string `json:"secret" minLength:"1" maxLength:"16384" writeOnly:"true" doc:"API key of the provider."`
	}
}

// CredentialPath identifies a credential in a path. It is exported because huma requires it for embedded fields.
type CredentialPath struct {
	ProviderPath
	ID string `path:"id" maxLength:"100" doc:"Credential ID."`
}

// stored returns an error if the credential was not added in the dashboard. An unknown credential is not an error here.
func (a *handlers) stored(in *CredentialPath, doing string) error {
	owner, err := a.provider(in.Name)
	if err != nil {
		return err
	}
	for _, known := range owner.Credentials {
		if known.ID == in.ID && known.Source != fromDashboard {
			return llm.Errorf(llm.Conflict, "This credential is configured in %s. %s it there.", known.Source, doing)
		}
	}
	if a.Credentials == nil {
		return account.ErrNotFound
	}
	return nil
}

type rotateCredentialInput struct {
	CredentialPath
	Body struct {
		Secret string `json:"secret" minLength:"1" maxLength:"16384" writeOnly:"true" doc:"New API key of the provider."`
	}
}

func credentialView(s CredentialState) CredentialView {
	return CredentialView{
		ID: s.ID, Hint: s.Hint, Source: s.Source, Removable: s.Source == fromDashboard,
		BackingOffUntil: adminapi.Time(s.BackingOffUntil), Reason: adminapi.NonEmpty(s.Reason), ReasonText: adminapi.NonEmpty(requests.FailureText(s.Reason)),
	}
}
