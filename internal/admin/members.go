package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead/internal/account"
)

// MemberView is a person in the workspace.
type MemberView struct {
	AccountID string    `json:"account_id"`
	Email     string    `json:"email"`
	Name      string    `json:"name"`
	Role      string    `json:"role" enum:"owner,admin,developer,viewer"`
	JoinedAt  time.Time `json:"joined_at"`
}

// MemberList holds the members of a workspace.
type MemberList struct {
	Members []MemberView `json:"members"`
}

// MemberPath names a member. It is exported because huma reads embedded fields only then.
type MemberPath struct {
	AccountID string `path:"account_id" maxLength:"64" doc:"Account ID of the member."`
}

func (a *API) registerMembers() {
	tags := []string{"members"}
	register(a, account.ReadMembers, huma.Operation{
		OperationID: "list-members", Method: http.MethodGet, Path: "/workspace/members", Tags: tags,
		Summary: "List members",
	}, a.listMembers)
	register(a, account.ManageMembers, huma.Operation{
		OperationID: "update-member", Method: http.MethodPatch, Path: "/workspace/members/{account_id}", Tags: tags,
		Summary: "Change the role of a member", DefaultStatus: http.StatusNoContent,
	}, a.updateMember)
	register(a, account.ManageMembers, huma.Operation{
		OperationID: "remove-member", Method: http.MethodDelete, Path: "/workspace/members/{account_id}", Tags: tags,
		Summary: "Remove a member from the workspace", Description: "Revokes the API keys that the member created in the workspace, unless keep_keys is set.",
	}, a.removeMember)
	register(a, account.ReadWorkspace, huma.Operation{
		OperationID: "leave-workspace", Method: http.MethodPost, Path: "/workspace/leave", Tags: tags,
		Summary: "Leave the workspace", Description: "Revokes the API keys that you created in the workspace, unless keep_keys is set, which requires manage_keys.",
	}, a.leaveWorkspace)
}

func (a *API) listMembers(ctx context.Context, c *call, _ *struct{}) (*output[MemberList], error) {
	members, err := a.Workspaces.Members(ctx, c.workspaceID)
	if err != nil {
		return nil, err
	}
	list := MemberList{Members: make([]MemberView, 0, len(members))}
	for _, m := range members {
		list.Members = append(list.Members, MemberView{
			AccountID: m.AccountID, Email: m.Email, Name: m.Name, Role: string(m.Role), JoinedAt: m.JoinedAt.UTC(),
		})
	}
	return &output[MemberList]{list}, nil
}

type updateMemberInput struct {
	MemberPath
	Body struct {
		Role string `json:"role" enum:"owner,admin,developer,viewer"`
	}
}

func (a *API) updateMember(ctx context.Context, c *call, in *updateMemberInput) (*nothing, error) {
	return nil, a.Workspaces.SetRole(ctx, c.actor, in.AccountID, account.Role(in.Body.Role))
}

// RemovedMember lists the keys that were revoked with a membership.
type RemovedMember struct {
	RevokedKeys []RevokedKey `json:"revoked_keys"`
}

// RevokedKey names a revoked key.
type RevokedKey struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// KeepKeys is the choice to keep the keys of a removed member. It is exported because huma reads embedded fields only
// then.
type KeepKeys struct {
	KeepKeys bool `query:"keep_keys" doc:"Keep the keys that the member created instead of revoking them."`
}

type removeMemberInput struct {
	MemberPath
	KeepKeys
}

func (a *API) removeMember(ctx context.Context, c *call, in *removeMemberInput) (*output[RemovedMember], error) {
	return a.endMembership(ctx, c, in.AccountID, in.KeepKeys.KeepKeys)
}

func (a *API) leaveWorkspace(ctx context.Context, c *call, in *KeepKeys) (*output[RemovedMember], error) {
	return a.endMembership(ctx, c, c.actor.AccountID, in.KeepKeys)
}

func (a *API) endMembership(ctx context.Context, c *call, accountID string, keepKeys bool) (*output[RemovedMember], error) {
	revoked, err := a.Workspaces.RemoveMember(ctx, c.actor, accountID, keepKeys)
	if err != nil {
		return nil, err
	}
	view := RemovedMember{RevokedKeys: make([]RevokedKey, 0, len(revoked))}
	for i := range revoked {
		view.RevokedKeys = append(view.RevokedKeys, RevokedKey{ID: revoked[i].ID, Name: revoked[i].Name})
	}
	return &output[RemovedMember]{view}, nil
}
