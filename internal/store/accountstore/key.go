package accountstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/store/sqldb"
)

// keyRows selects keys joined with their secrets, one row per secret. The caller adds conditions and an order that
// keeps the rows of a key together.
const keyRows = `select k.id, k.workspace_id, k.name, k.scopes, k.allowed_models, k.requests_per_minute, k.tokens_per_minute, k.concurrent,
	k.budget, k.sessions, k.response_cache, k.baseline, k.log_bodies, k.error_format, k.allow_unpriced, k.tags, k.created_by, k.created_at, k.expires_at, k.revoked_at,
	k.last_used_at, k.last_used_by, coalesce(m.role, ''), s.hash, s.start_text, s.end_text, s.created_at, s.expires_at, s.after_use, s.used_at
	from keys k join key_secrets s on s.key_id = k.id left join members m on m.workspace_id = k.workspace_id and m.account_id = k.created_by `

// keyRow is one row of keyRows.
type keyRow struct {
	key                                    account.Key
	scopes, models, budget, sessions, tags string
	cache                                  string
	logBodies                              sql.NullInt64
	unpriced                               int64
	created, expires, revoked, lastUsed    int64
	secret                                 account.Secret
	made, secretExpires, afterUse, usedAt  int64
}

func (r *keyRow) scan(row sqldb.Scanner) error {
	k, s := &r.key, &r.secret
	return notFound(row.Scan(&k.ID, &k.WorkspaceID, &k.Name, &r.scopes, &r.models, &k.Limits.RequestsPerMinute, &k.Limits.TokensPerMinute, &k.Limits.Concurrent,
		&r.budget, &r.sessions, &r.cache, &k.Baseline, &r.logBodies, &k.ErrorFormat, &r.unpriced, &r.tags, &k.CreatedBy, &r.created, &r.expires, &r.revoked,
		&r.lastUsed, &k.LastUsedBy, &k.MakerRole, &s.Hash, &s.Start, &s.End, &r.made, &r.secretExpires, &r.afterUse, &r.usedAt))
}

func (r *keyRow) asSecret() account.Secret {
	s := r.secret
	s.CreatedAt, s.ExpiresAt, s.UsedAt = sqldb.FromMillis(r.made), sqldb.FromMillis(r.secretExpires), sqldb.FromMillis(r.usedAt)
	s.AfterUse = fromSpan(r.afterUse)
	return s
}

// asKey returns the key. It reuses equal values of keys that were read before.
func (r *keyRow) asKey(same *alike) (_ *account.Key, err error) {
	k := r.key
	k.WorkspaceID, k.CreatedBy, k.MakerRole = same.text(k.WorkspaceID), same.text(k.CreatedBy), account.Role(same.text(string(k.MakerRole)))
	if k.Scopes, err = once(same.scopes, r.scopes, func(text string) (scopes []account.Scope, _ error) {
		for scope := range strings.SplitSeq(text, ",") {
			scopes = append(scopes, account.Scope(scope))
		}
		return scopes, nil
	}); err != nil {
		return nil, err
	}
	if k.AllowedModels, err = once(same.models, r.models, fromText[[]string]); err != nil {
		return nil, fmt.Errorf("read models of key %s: %w", k.ID, err)
	}
	if k.Tags, err = once(same.tags, r.tags, fromText[map[string]string]); err != nil {
		return nil, fmt.Errorf("read tags of key %s: %w", k.ID, err)
	}
	if r.logBodies.Valid {
		logBodies := r.logBodies.Int64 != 0
		k.LogBodies = &logBodies
	}
	k.AllowUnpriced = r.unpriced != 0
	k.CreatedAt, k.ExpiresAt, k.RevokedAt, k.LastUsedAt = sqldb.FromMillis(r.created), sqldb.FromMillis(r.expires), sqldb.FromMillis(r.revoked), sqldb.FromMillis(r.lastUsed)
	if k.Sessions, err = once(same.sessions, r.sessions, fromText[*account.SessionLimits]); err != nil {
		return nil, fmt.Errorf("read the session limits of key %s: %w", k.ID, err)
	}
	if k.Cache, err = once(same.caches, r.cache, fromText[*account.ResponseCache]); err != nil {
		return nil, fmt.Errorf("read the response cache settings of key %s: %w", k.ID, err)
	}
	k.Budget, err = once(same.budgets, r.budget, fromBudget)
	return &k, err
}

// alike caches values by their stored text, so that a million keys with the same tags and budgets share them. The
// values must not be changed.
type alike struct {
	scopes   map[string][]account.Scope
	models   map[string][]string
	tags     map[string]map[string]string
	budgets  map[string]*account.Budget
	sessions map[string]*account.SessionLimits
	caches   map[string]*account.ResponseCache
	texts    map[string]string
}

func (a *alike) text(text string) string {
	same, _ := once(a.texts, text, func(text string) (string, error) { return text, nil }) // the error is ignored: the function never fails
	return same
}

// once parses text, or returns the cached value if the same text was parsed before.
func once[T any](known map[string]T, text string, read func(string) (T, error)) (T, error) {
	if value, ok := known[text]; ok {
		return value, nil
	}
	value, err := read(text)
	if err == nil {
		known[text] = value
	}
	return value, err
}

// visitKeys combines the rows of each key and calls visit for each key.
func visitKeys(rows *sql.Rows, visit func(*account.Key) error) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	var current *account.Key
	same := &alike{
		scopes: map[string][]account.Scope{}, models: map[string][]string{}, tags: map[string]map[string]string{},
		budgets: map[string]*account.Budget{}, sessions: map[string]*account.SessionLimits{}, caches: map[string]*account.ResponseCache{}, texts: map[string]string{},
	}
	for rows.Next() {
		var r keyRow
		if err := r.scan(rows); err != nil {
			return err
		}
		if current != nil && current.ID == r.key.ID {
			current.Secrets = append(current.Secrets, r.asSecret())
			continue
		}
		if current != nil {
			if err := visit(current); err != nil {
				return err
			}
		}
		if current, err = r.asKey(same); err != nil {
			return err
		}
		current.Secrets = []account.Secret{r.asSecret()}
	}
	if err := rows.Err(); err != nil || current == nil {
		return err
	}
	return visit(current)
}

// keyArguments returns the settings of a key in the argument order of the statements below.
func keyArguments(k account.Key, revision int64) ([]any, error) {
	scopes := make([]string, len(k.Scopes))
	for i, scope := range k.Scopes {
		scopes[i] = string(scope)
	}
	var models, tags []byte
	var err error
	if len(k.AllowedModels) > 0 {
		if models, err = json.Marshal(k.AllowedModels); err != nil {
			return nil, err
		}
	}
	if len(k.Tags) > 0 {
		if tags, err = json.Marshal(k.Tags); err != nil {
			return nil, err
		}
	}
	budget, err := budgetText(k.Budget)
	if err != nil {
		return nil, err
	}
	sessions, err := textOf(k.Sessions)
	if err != nil {
		return nil, err
	}
	cache, err := textOf(k.Cache)
	if err != nil {
		return nil, err
	}
	var logBodies sql.NullInt64
	if k.LogBodies != nil {
		logBodies = sql.NullInt64{Int64: int64(sqldb.Flag(*k.LogBodies)), Valid: true}
	}
	return []any{
		k.ID, k.Name, strings.Join(scopes, ","), string(models), k.Limits.RequestsPerMinute, k.Limits.TokensPerMinute, k.Limits.Concurrent,
		budget, k.Baseline, logBodies, k.ErrorFormat, sqldb.Flag(k.AllowUnpriced), string(tags), sqldb.Millis(k.ExpiresAt), sqldb.Millis(k.RevokedAt), revision, sessions, cache,
	}, nil
}

// CreateKey writes a key with its secrets. It returns account.ErrTooMany when the creator already has limit active keys. Keys
// without an account are counted per workspace.
func (s *Store) CreateKey(ctx context.Context, k account.Key, limit int, event account.AuditEvent) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		revision, err := sqldb.NextRevision(ctx, tx, "keys") // serialises the creation of keys, so that the count is exact
		if err != nil {
			return err
		}
		if limit > 0 {
			const q = `select count(*) from keys where created_by = $1 and (created_by <> '' or workspace_id = $2)
				and revoked_at = 0 and (expires_at = 0 or expires_at > $3)`
			var active int
			if err := tx.QueryRowContext(ctx, q, k.CreatedBy, k.WorkspaceID, sqldb.Millis(k.CreatedAt)).Scan(&active); err != nil {
				return err
			}
			if active >= limit {
				return account.ErrTooMany
			}
		}
		args, err := keyArguments(k, revision)
		if err != nil {
			return err
		}
		const q = `insert into keys (id, name, scopes, allowed_models, requests_per_minute, tokens_per_minute, concurrent, budget, baseline,
			log_bodies, error_format, allow_unpriced, tags, expires_at, revoked_at, revision, sessions, response_cache, workspace_id, created_by, created_at)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`
		if _, err := tx.ExecContext(ctx, q, append(args, k.WorkspaceID, k.CreatedBy, sqldb.Millis(k.CreatedAt))...); err != nil {
			return err
		}
		if err := writeSecrets(ctx, tx, k); err != nil {
			return err
		}
		return writeAudit(ctx, tx, event)
	})
}

// writeSecrets replaces the stored secrets with the secrets of the key. The recorded first use of a secret is kept.
func writeSecrets(ctx context.Context, tx *sql.Tx, k account.Key) error {
	args := []any{k.ID}
	for position, s := range k.Secrets {
		const q = `insert into key_secrets (hash, key_id, start_text, end_text, position, created_at, expires_at, after_use, used_at)
			values ($1, $2, $3, $4, $5, $6, $7, $8, 0)
			on conflict (hash) do update set position = excluded.position, expires_at = excluded.expires_at, after_use = excluded.after_use`
		if _, err := tx.ExecContext(ctx, q, s.Hash, k.ID, s.Start, s.End, position, sqldb.Millis(s.CreatedAt), sqldb.Millis(s.ExpiresAt), spanMillis(s.AfterUse)); err != nil {
			return err
		}
		args = append(args, s.Hash)
	}
	_, err := tx.ExecContext(ctx, `delete from key_secrets where key_id = $1 and hash not in (`+sqldb.Placeholders(2, len(k.Secrets))+`)`, args...)
	return err
}

// KeysOf lists the keys of a workspace, newest first.
func (s *Store) KeysOf(ctx context.Context, workspaceID string) ([]account.Key, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	keys := []account.Key{}
	rows, err := s.db.Query(ctx, keyRows+`where k.workspace_id = $1 order by k.id desc, s.position`, workspaceID)
	if err == nil {
		err = visitKeys(rows, func(k *account.Key) error {
			keys = append(keys, *k)
			return nil
		})
	}
	if errors.Is(notFound(err), account.ErrNotFound) {
		return keys, nil
	}
	return keys, err
}

const keyByID = keyRows + `where k.workspace_id = $1 and k.id = $2 order by s.position`

// KeyByID returns a key of the workspace, or account.ErrNotFound.
func (s *Store) KeyByID(ctx context.Context, workspaceID, keyID string) (account.Key, error) {
	rows, err := s.db.Query(ctx, keyByID, workspaceID, keyID)
	return onlyKey(rows, err)
}

func onlyKey(rows *sql.Rows, err error) (account.Key, error) {
	if err != nil {
		return account.Key{}, notFound(err)
	}
	found := account.Key{}
	if err := visitKeys(rows, func(k *account.Key) error { found = *k; return nil }); err != nil {
		return account.Key{}, notFound(err)
	}
	if found.ID == "" {
		return account.Key{}, account.ErrNotFound
	}
	return found, nil
}

// ChangeKey changes the settings and secrets of a key.
func (s *Store) ChangeKey(ctx context.Context, workspaceID, keyID string, change func(*account.Key) (account.AuditEvent, error)) (k account.Key, err error) {
	err = s.db.InTx(ctx, func(tx *sql.Tx) error {
		revision, err := sqldb.NextRevision(ctx, tx, "keys")
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, keyByID, workspaceID, keyID)
		if k, err = onlyKey(rows, err); err != nil {
			return err
		}
		event, err := change(&k)
		if err != nil {
			return err
		}
		if event.Action == "" {
			return errUnchanged
		}
		args, err := keyArguments(k, revision)
		if err != nil {
			return err
		}
		const q = `update keys set name = $2, scopes = $3, allowed_models = $4, requests_per_minute = $5, tokens_per_minute = $6, concurrent = $7,
			budget = $8, baseline = $9, log_bodies = $10, error_format = $11, allow_unpriced = $12, tags = $13, expires_at = $14, revoked_at = $15,
			revision = $16, sessions = $17, response_cache = $18 where id = $1`
		if err := affect(ctx, tx, q, args...); err != nil {
			return err
		}
		if err := writeSecrets(ctx, tx, k); err != nil {
			return err
		}
		return writeAudit(ctx, tx, event)
	})
	return k, changed(err)
}
