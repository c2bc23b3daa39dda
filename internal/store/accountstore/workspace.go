package accountstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/redact"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/store/sqldb"
)

const (
	workspaceColumns = `w.id, w.name, w.default_model, w.pinned_embed, w.log_bodies, w.entry_retention_ms, w.body_retention_ms, w.redaction, w.budget, w.comparison, w.routes, w.created_at, w.revision`
	oldestWorkspace  = `select ` + workspaceColumns + ` from workspaces w order by w.created_at, w.id limit 1`
	workspaceByID    = `select ` + workspaceColumns + ` from workspaces w where w.id = $1`
)

func scanWorkspace(row sqldb.Scanner, more ...any) (account.Workspace, error) {
	var w account.Workspace
	var created, logBodies, entries, bodies int64
	var redaction, budget, comparison, routes string
	err := row.Scan(append([]any{&w.ID, &w.Name, &w.DefaultModel, &w.PinnedEmbed, &logBodies, &entries, &bodies, &redaction, &budget, &comparison, &routes, &created, &w.Revision}, more...)...)
	if err != nil {
		return account.Workspace{}, notFound(err)
	}
	w.LogBodies, w.CreatedAt = logBodies != 0, sqldb.FromMillis(created)
	w.EntryRetention, w.BodyRetention = fromSpan(entries), fromSpan(bodies)
	if w.Redaction, err = fromText[*redact.Rules](redaction); err != nil {
		return w, fmt.Errorf("read redaction rules: %w", err)
	}
	if w.Comparison, err = fromText[*account.Comparison](comparison); err != nil {
		return w, fmt.Errorf("read comparison settings: %w", err)
	}
	if w.Routes, err = fromText[[]route.Route](routes); err != nil {
		return w, fmt.Errorf("read routes: %w", err)
	}
	w.Budget, err = fromBudget(budget)
	return w, err
}

// fromBudget decodes the output of textOf. An empty string means no budget.
func fromBudget(text string) (*account.Budget, error) {
	b, err := fromText[*account.Budget](text)
	if err != nil {
		return nil, fmt.Errorf("read budget: %w", err)
	}
	return b, nil
}

// fromText decodes a value from JSON. An empty string gives the zero value.
func fromText[T any](text string) (value T, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &value)
	}
	return value, err
}

// textOf encodes a value as JSON. It returns "" for nil.
func textOf[T any](v *T) (string, error) {
	if v == nil {
		return "", nil
	}
	text, err := json.Marshal(v)
	return string(text), err
}

func budgetText(b *account.Budget) (string, error) { return textOf(b) }

func insertWorkspace(ctx context.Context, tx *sql.Tx, w account.Workspace, revision int64) error {
	budget, err := budgetText(w.Budget)
	if err != nil {
		return err
	}
	redaction, err := textOf(w.Redaction)
	if err != nil {
		return err
	}
	comparison, err := textOf(w.Comparison)
	if err != nil {
		return err
	}
	const q = `insert into workspaces (id, name, default_model, pinned_embed, log_bodies, entry_retention_ms, body_retention_ms, redaction, budget, created_at, revision, comparison)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`
	_, err = tx.ExecContext(ctx, q, w.ID, w.Name, w.DefaultModel, w.PinnedEmbed, sqldb.Flag(w.LogBodies),
		spanMillis(w.EntryRetention), spanMillis(w.BodyRetention), redaction, budget, sqldb.Millis(w.CreatedAt), revision, comparison)
	return err
}

// WorkspacesOf lists the workspaces of which the account is a member, oldest first.
func (s *Store) WorkspacesOf(ctx context.Context, accountID string) ([]account.Membership, error) {
	const q = `select ` + workspaceColumns + `, m.role from workspaces w join members m on m.workspace_id = w.id
		where m.account_id = $1 order by w.created_at, w.id`
	rows, err := s.db.Query(ctx, q, accountID)
	return sqldb.Collect(rows, err, func(row sqldb.Scanner) (account.Membership, error) {
		var role account.Role
		w, err := scanWorkspace(row, &role)
		return account.Membership{Workspace: w, Role: role}, err
	})
}

// WorkspaceByID returns the workspace, or account.ErrNotFound.
func (s *Store) WorkspaceByID(ctx context.Context, workspaceID string) (account.Workspace, error) {
	return scanWorkspace(s.db.QueryRow(ctx, workspaceByID, workspaceID))
}

// OldestWorkspace returns the oldest workspace, or account.ErrNotFound if no workspace exists.
func (s *Store) OldestWorkspace(ctx context.Context) (account.Workspace, error) {
	return scanWorkspace(s.db.QueryRow(ctx, oldestWorkspace))
}

// EnsureWorkspace returns the oldest workspace. If no workspace exists, it creates draft.
func (s *Store) EnsureWorkspace(ctx context.Context, draft account.Workspace, event account.AuditEvent) (w account.Workspace, err error) {
	err = s.db.InTx(ctx, func(tx *sql.Tx) error {
		revision, err := sqldb.NextRevision(ctx, tx, "workspaces")
		if err != nil {
			return err
		}
		w, err = scanWorkspace(tx.QueryRowContext(ctx, oldestWorkspace))
		if !errors.Is(err, account.ErrNotFound) {
			return err
		}
		w = draft
		if err := insertWorkspace(ctx, tx, draft, revision); err != nil {
			return err
		}
		return writeAudit(ctx, tx, event)
	})
	return w, err
}

// CreateWorkspace creates a workspace with its owner. It returns account.ErrTooMany when the owner already owns limit
// workspaces.
func (s *Store) CreateWorkspace(ctx context.Context, w account.Workspace, owner account.Member, limit int, event account.AuditEvent) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		revision, err := sqldb.NextRevision(ctx, tx, "workspaces")
		if err != nil {
			return err
		}
		var owned int
		if err := tx.QueryRowContext(ctx, `select count(*) from members where account_id = $1 and role = 'owner'`, owner.AccountID).Scan(&owned); err != nil {
			return err
		}
		if owned >= limit {
			return account.ErrTooMany
		}
		if err := insertWorkspace(ctx, tx, w, revision); err != nil {
			return err
		}
		if err := insertMember(ctx, tx, owner); err != nil {
			return err
		}
		return writeAudit(ctx, tx, event)
	})
}

// ReviseWorkspace changes the revision of a workspace.
func (s *Store) ReviseWorkspace(ctx context.Context, workspaceID string) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		revision, err := sqldb.NextRevision(ctx, tx, "workspaces")
		if err != nil {
			return err
		}
		return affect(ctx, tx, `update workspaces set revision = $2 where id = $1`, workspaceID, revision)
	})
}

// ChangeWorkspace changes the settings of a workspace.
func (s *Store) ChangeWorkspace(ctx context.Context, workspaceID string, change func(*account.Workspace) (account.AuditEvent, error)) (w account.Workspace, err error) {
	err = s.db.InTx(ctx, func(tx *sql.Tx) error {
		revision, err := sqldb.NextRevision(ctx, tx, "workspaces")
		if err != nil {
			return err
		}
		if w, err = scanWorkspace(tx.QueryRowContext(ctx, workspaceByID, workspaceID)); err != nil {
			return err
		}
		event, err := change(&w)
		if err != nil {
			return err
		}
		if event.Action == "" {
			return errUnchanged
		}
		w.Revision = revision
		budget, err := budgetText(w.Budget)
		if err != nil {
			return err
		}
		redaction, err := textOf(w.Redaction)
		if err != nil {
			return err
		}
		comparison, err := textOf(w.Comparison)
		if err != nil {
			return err
		}
		routes, err := textOf(&w.Routes)
		if err != nil {
			return err
		}
		const q = `update workspaces set name = $2, default_model = $3, pinned_embed = $4, log_bodies = $5,
			entry_retention_ms = $6, body_retention_ms = $7, redaction = $8, budget = $9, revision = $10, comparison = $11, routes = $12 where id = $1`
		if err := affect(ctx, tx, q, workspaceID, w.Name, w.DefaultModel, w.PinnedEmbed, sqldb.Flag(w.LogBodies),
			spanMillis(w.EntryRetention), spanMillis(w.BodyRetention), redaction, budget, revision, comparison, routes); err != nil {
			return err
		}
		return writeAudit(ctx, tx, event)
	})
	return w, changed(err)
}

// errUnchanged rolls back a transaction that has nothing to write.
var errUnchanged = errors.New("unchanged")

func changed(err error) error {
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}
