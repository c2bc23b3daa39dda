package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fairlead.dev/internal/account/secret"
	"fairlead.dev/internal/id"
)

const invitationLife = 7 * 24 * time.Hour

// Invite creates an invitation to the actor's workspace and returns it with its token. The token can be used once, within a week.
// The role must not be above the actor's own.
func (s *Service) Invite(ctx context.Context, by Actor, role Role) (Invitation, string, error) {
	if roleRank[role] == 0 {
		return Invitation{}, "", invalid("role", "Unknown role. Use owner, admin, developer or viewer.")
	}
	if !by.mayGrantRole(role) {
		return Invitation{}, "", denied("You cannot invite a person with a role above your own.")
	}
	token := secret.Token()
	now := s.now()
	invitation := Invitation{
		ID: id.New("inv", now), WorkspaceID: by.WorkspaceID, Role: role, TokenHash: s.invitationHash.Bytes(token),
		CreatedBy: by.AccountID, CreatedAt: now, ExpiresAt: now.Add(invitationLife),
	}
	event := s.event(by, "invitation.create", invitation.ID, nil, memberView{role})
	if err := s.store.Invitations.CreateInvitation(ctx, invitation, event); err != nil {
		return Invitation{}, "", fmt.Errorf("create an invitation: %w", err)
	}
	return invitation, token, nil
}

// Invitations lists the workspace's open invitations, newest first.
func (s *Service) Invitations(ctx context.Context, workspaceID string) ([]Invitation, error) {
	invitations, err := s.store.Invitations.InvitationsOf(ctx, workspaceID, s.now())
	if err != nil {
		return nil, fmt.Errorf("list invitations: %w", err)
	}
	return invitations, nil
}

// Invitation returns the invitation with the given token.
func (s *Service) Invitation(ctx context.Context, token string) (Invitation, error) {
	invitation, err := s.store.Invitations.InvitationByHash(ctx, s.invitationHash.Bytes(token))
	if errors.Is(err, ErrNotFound) || err == nil && !s.now().Before(invitation.ExpiresAt) {
		return Invitation{}, invitationOver()
	}
	if err != nil {
		return Invitation{}, fmt.Errorf("look up an invitation: %w", err)
	}
	return invitation, nil
}

// RevokeInvitation deletes an invitation of the actor's workspace.
func (s *Service) RevokeInvitation(ctx context.Context, by Actor, invitationID string) error {
	event := s.event(by, "invitation.revoke", invitationID, nil, nil)
	return wrapStoreError(s.store.Invitations.DeleteInvitation(ctx, by.WorkspaceID, invitationID, event), "invitation", "revoke an invitation")
}

// AcceptInvitation makes the account a member and deletes the invitation.
func (s *Service) AcceptInvitation(ctx context.Context, accountID, token string) (Member, error) {
	event := s.event(Actor{AccountID: accountID}, "invitation.accept", accountID, nil, nil)
	member, err := s.store.Invitations.AcceptInvitation(ctx, s.invitationHash.Bytes(token), accountID, event)
	switch {
	case errors.Is(err, ErrNotFound):
		return Member{}, invitationOver()
	case errors.Is(err, ErrConflict):
		return Member{}, conflict(err, "You are already a member of this workspace.")
	case err != nil:
		return Member{}, fmt.Errorf("accept an invitation: %w", err)
	}
	return member, nil
}
