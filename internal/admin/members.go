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
	AccountID string `path:"account_id" maxLength:"64" doc:"Account id of the member."`
}

func (a *API) registerMembers() {
	tags := []string{"members"}
	register(a, account.ReadMembers, huma.Operation{
		OperationID: "list-members", Method: http.MethodGet, Path: "/workspace/members", Tags: tags,
		Summary: "List the members",
	}, a.listMembers)
	register(a, account.ManageMembers, huma.Operation{
		OperationID: "update-member", Method: http.MethodPatch, Path: "/workspace/members/{account_id}", Tags: tags,
		Summary: "Give a member another role, not above one's own", DefaultStatus: http.StatusNoContent,
	}, a.updateMember)
	register(a, account.ManageMembers, huma.Operation{
		OperationID: "remove-member", Method: http.MethodDelete, Path: "/workspace/members/{account_id}", Tags: tags,
		Summary: "Take a member out of the workspace", DefaultStatus: http.StatusNoContent,
	}, a.removeMember)
	register(a, account.ReadWorkspace, huma.Operation{
		OperationID: "leave-workspace", Method: http.MethodPost, Path: "/workspace/leave", Tags: tags,
		Summary: "Leave the workspace", DefaultStatus: http.StatusNoContent,
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

func (a *API) removeMember(ctx context.Context, c *call, in *MemberPath) (*nothing, error) {
	return nil, a.Workspaces.RemoveMember(ctx, c.actor, in.AccountID)
}

func (a *API) leaveWorkspace(ctx context.Context, c *call, _ *struct{}) (*nothing, error) {
	return nil, a.Workspaces.RemoveMember(ctx, c.actor, c.actor.AccountID)
}
