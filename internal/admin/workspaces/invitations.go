package workspaces

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
)

// InvitationView is an open invitation.
type InvitationView struct {
	ID        string    `json:"id"`
	Role      string    `json:"role" enum:"owner,admin,developer,viewer"`
	CreatedBy string    `json:"created_by" doc:"Account ID."`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

// NewInvitation is an invitation with its token, which is shown once.
type NewInvitation struct {
	InvitationView
	Token string `json:"token" doc:"Token for the invitation link. Shown only once."`
}

// InvitationList holds the open invitations of a workspace.
type InvitationList struct {
	Invitations []InvitationView `json:"invitations"`
}

// Joined is the workspace of an accepted invitation.
type Joined struct {
	WorkspaceID string `json:"workspace_id"`
	Role        string `json:"role"`
}

func (a *handlers) registerInvitations() {
	tags := []string{"members"}
	adminapi.Register(a.Server, account.ManageMembers, huma.Operation{
		OperationID: "list-invitations", Method: http.MethodGet, Path: "/workspace/invitations", Tags: tags,
		Summary: "List open invitations",
	}, func(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[InvitationList], error) {
		open, err := a.Invitations.Invitations(ctx, c.WorkspaceID)
		if err != nil {
			return nil, err
		}
		list := InvitationList{Invitations: make([]InvitationView, 0, len(open))}
		for _, i := range open {
			list.Invitations = append(list.Invitations, invitationView(i))
		}
		return adminapi.Respond(list), nil
	})
	adminapi.Register(a.Server, account.ManageMembers, huma.Operation{
		OperationID: "create-invitation", Method: http.MethodPost, Path: "/workspace/invitations", Tags: tags,
		Summary: "Invite a person", DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, c *adminapi.Call, in *createInvitationInput) (*adminapi.Output[NewInvitation], error) {
		made, token, err := a.Invitations.Invite(ctx, c.Actor, account.Role(in.Body.Role))
		if err != nil {
			return nil, err
		}
		return adminapi.Respond(NewInvitation{InvitationView: invitationView(made), Token: token}), nil
	})
	adminapi.Register(a.Server, account.ManageMembers, huma.Operation{
		OperationID: "revoke-invitation", Method: http.MethodDelete, Path: "/workspace/invitations/{id}", Tags: tags,
		Summary: "Revoke an invitation", DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, c *adminapi.Call, in *invitationPath) (*adminapi.NoContent, error) {
		return nil, a.Invitations.RevokeInvitation(ctx, c.Actor, in.ID)
	})
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "accept-invitation", Method: http.MethodPost, Path: "/invitations/accept", Tags: tags,
		Summary: "Accept an invitation", Description: "For accounts that already exist. Without an account, pass the token to create-registration.",
	}, func(ctx context.Context, c *adminapi.Call, in *acceptInvitationInput) (*adminapi.Output[Joined], error) {
		member, err := a.Invitations.AcceptInvitation(ctx, c.Account.ID, in.Body.Token)
		if err != nil {
			return nil, err
		}
		return adminapi.Respond(Joined{WorkspaceID: member.WorkspaceID, Role: string(member.Role)}), nil
	})
}

type createInvitationInput struct {
	Body struct {
		Role string `json:"role" enum:"owner,admin,developer,viewer"`
	}
}

type invitationPath struct {
	ID string `path:"id" maxLength:"64" doc:"Invitation ID."`
}

type acceptInvitationInput struct {
	Body struct {
		Token string `json:"token" minLength:"1" maxLength:"200"`
	}
}

func invitationView(i account.Invitation) InvitationView {
	return InvitationView{
		ID: i.ID, Role: string(i.Role), CreatedBy: i.CreatedBy, CreatedAt: i.CreatedAt.UTC(), ExpiresAt: i.ExpiresAt.UTC(),
	}
}
