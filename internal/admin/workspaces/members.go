package workspaces

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
)

// MemberView is a member of the workspace.
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

// MemberPath is an account ID in a path. It is exported because huma requires it for embedded fields.
type MemberPath struct {
	AccountID string `path:"account_id" maxLength:"64" doc:"Account ID of the member."`
}

func (a *handlers) registerMembers() {
	tags := []string{"members"}
	adminapi.Register(a.Server, account.ReadMembers, huma.Operation{
		OperationID: "list-members", Method: http.MethodGet, Path: "/workspace/members", Tags: tags,
		Summary: "List members",
	}, func(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[MemberList], error) {
		members, err := a.Members.Members(ctx, c.WorkspaceID)
		if err != nil {
			return nil, err
		}
		list := MemberList{Members: make([]MemberView, 0, len(members))}
		for _, m := range members {
			list.Members = append(list.Members, MemberView{
				AccountID: m.AccountID, Email: m.Email, Name: m.Name, Role: string(m.Role), JoinedAt: m.JoinedAt.UTC(),
			})
		}
		return adminapi.Respond(list), nil
	})
	adminapi.Register(a.Server, account.ManageMembers, huma.Operation{
		OperationID: "update-member", Method: http.MethodPatch, Path: "/workspace/members/{account_id}", Tags: tags,
		Summary: "Change the role of a member", DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, c *adminapi.Call, in *updateMemberInput) (*adminapi.NoContent, error) {
		return nil, a.Members.SetRole(ctx, c.Actor, in.AccountID, account.Role(in.Body.Role))
	})
	adminapi.Register(a.Server, account.ManageMembers, huma.Operation{
		OperationID: "remove-member", Method: http.MethodDelete, Path: "/workspace/members/{account_id}", Tags: tags,
		Summary: "Remove a member from the workspace", Description: "Revokes the API keys that the member created in the workspace, unless keep_keys is set.",
	}, func(ctx context.Context, c *adminapi.Call, in *removeMemberInput) (*adminapi.Output[RemovedMember], error) {
		return a.endMembership(ctx, c, in.AccountID, in.KeepKeys.KeepKeys)
	})
	adminapi.Register(a.Server, account.ReadWorkspace, huma.Operation{
		OperationID: "leave-workspace", Method: http.MethodPost, Path: "/workspace/leave", Tags: tags,
		Summary: "Leave the workspace", Description: "Revokes the API keys that you created in the workspace, unless keep_keys is set, which requires manage_keys.",
	}, func(ctx context.Context, c *adminapi.Call, in *KeepKeys) (*adminapi.Output[RemovedMember], error) {
		return a.endMembership(ctx, c, c.Actor.AccountID, in.KeepKeys)
	})
}

type updateMemberInput struct {
	MemberPath
	Body struct {
		Role string `json:"role" enum:"owner,admin,developer,viewer"`
	}
}

// RemovedMember lists the keys that were revoked when a member was removed.
type RemovedMember struct {
	RevokedKeys []RevokedKey `json:"revoked_keys"`
}

// RevokedKey identifies a revoked key.
type RevokedKey struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// KeepKeys is the query parameter that keeps the keys of a removed member. It is exported because huma requires it for embedded
// fields.
type KeepKeys struct {
	KeepKeys bool `query:"keep_keys" doc:"Keep the keys that the member created instead of revoking them."`
}

type removeMemberInput struct {
	MemberPath
	KeepKeys
}

func (a *handlers) endMembership(ctx context.Context, c *adminapi.Call, accountID string, keepKeys bool) (*adminapi.Output[RemovedMember], error) {
	revoked, err := a.Members.RemoveMember(ctx, c.Actor, accountID, keepKeys)
	if err != nil {
		return nil, err
	}
	view := RemovedMember{RevokedKeys: make([]RevokedKey, 0, len(revoked))}
	for i := range revoked {
		view.RevokedKeys = append(view.RevokedKeys, RevokedKey{ID: revoked[i].ID, Name: revoked[i].Name})
	}
	return adminapi.Respond(view), nil
}
