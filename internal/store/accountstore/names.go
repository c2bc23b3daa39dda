package accountstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/store/sqldb"
)

// Names returns display names for the IDs in a workspace's audit log. The name of an account is its email address (the
// last one if the account was deleted). The name of an invitation is the address of the account that accepted it. Other
// and unknown IDs are omitted.
func (s *Store) Names(ctx context.Context, workspaceID string, ids []string) (map[string]string, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	accepted, err := s.accepted(ctx, workspaceID, withPrefix(ids, "inv_"))
	if err != nil {
		return nil, fmt.Errorf("read accepted invitations: %w", err)
	}
	accounts := withPrefix(ids, "acc_")
	for _, accountID := range accepted {
		accounts = append(accounts, accountID)
	}
	names, err := s.addresses(ctx, accounts)
	if err != nil {
		return nil, fmt.Errorf("read account addresses: %w", err)
	}
	for invitation, accountID := range accepted {
		if name := names[accountID]; name != "" {
			names[invitation] = name
		}
	}
	return names, nil
}

func withPrefix(ids []string, prefix string) []string {
	var some []string
	for _, one := range ids {
		if strings.HasPrefix(one, prefix) && !slices.Contains(some, one) {
			some = append(some, one)
		}
	}
	return some
}

// addresses maps accounts to their addresses. The address of a deleted account is only in the audit log.
func (s *Store) addresses(ctx context.Context, accounts []string) (map[string]string, error) {
	names := map[string]string{}
	if len(accounts) == 0 {
		return names, nil
	}
	marks := sqldb.Placeholders(1, len(accounts))
	deleted := `select object, before_text from audit where workspace_id = '' and action = 'account.delete' and object in (` + marks + `)`
	if err := s.pairs(ctx, deleted, sqldb.Args(accounts), func(accountID, text string) {
		var facts struct {
			Email string `json:"email"`
		}
		if json.Unmarshal([]byte(text), &facts) == nil && facts.Email != "" {
			names[accountID] = facts.Email
		}
	}); err != nil {
		return nil, err
	}
	err := s.pairs(ctx, `select id, email from accounts where id in (`+marks+`)`, sqldb.Args(accounts), func(accountID, email string) { names[accountID] = email })
	return names, err
}

// acceptedFacts holds the data of an accepted invitation in the audit log.
type acceptedFacts struct {
	Invitation string `json:"invitation"`
	Role       string `json:"role"`
}

// accepted maps invitations to the accounts that accepted them.
func (s *Store) accepted(ctx context.Context, workspaceID string, invitations []string) (map[string]string, error) {
	by := map[string]string{}
	if len(invitations) == 0 {
		return by, nil
	}
	since := ""
	if made, ok := id.Time(slices.Min(invitations)); ok { // search only the events after the creation of the oldest invitation
		since = id.Floor("aud", made)
	}
	const q = `select object, after_text from audit where workspace_id = $1 and id >= $2 and action = 'invitation.accept'`
	err := s.pairs(ctx, q, []any{workspaceID, since}, func(accountID, text string) {
		var facts acceptedFacts
		if json.Unmarshal([]byte(text), &facts) == nil && slices.Contains(invitations, facts.Invitation) {
			by[facts.Invitation] = accountID
		}
	})
	return by, err
}

// pairs calls fn for each row of a query with two text columns.
func (s *Store) pairs(ctx context.Context, q string, args []any, fn func(a, b string)) error {
	rows, err := s.db.Query(ctx, q, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var a, b string
		if err := rows.Scan(&a, &b); err != nil {
			return err
		}
		fn(a, b)
	}
	return rows.Err()
}
