// Package viewstore stores the saved views of workspaces.
package viewstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"fairlead.dev/internal/savedview"
	"fairlead.dev/internal/store/sqldb"
)

// Store stores views in db.
type Store struct{ db *sqldb.DB }

// New returns a store that uses db.
func New(db *sqldb.DB) *Store { return &Store{db: db} }

// Views lists the views of a workspace by name.
func (s *Store) Views(ctx context.Context, workspaceID string) ([]savedview.View, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	rows, err := s.db.Query(ctx, `select id, name, page, filters, columns, sort, created_by, created_at from saved_views where workspace_id = $1
		order by lower(name), id limit $2`, workspaceID, savedview.Max)
	list, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (savedview.View, error) {
		v := savedview.View{WorkspaceID: workspaceID}
		var filters, columns string
		var created int64
		if err := row.Scan(&v.ID, &v.Name, &v.Page, &filters, &columns, &v.Sort, &v.CreatedBy, &created); err != nil {
			return v, err
		}
		v.CreatedAt = sqldb.FromMillis(created)
		if err := json.Unmarshal([]byte(filters), &v.Filters); err != nil {
			return v, err
		}
		return v, json.Unmarshal([]byte(columns), &v.Columns)
	})
	if err != nil {
		return nil, fmt.Errorf("list saved views: %w", err)
	}
	return list, nil
}

// AddView stores a new view. It returns savedview.ErrNameTaken if the name is in use, or savedview.ErrTooMany if the limit is reached.
func (s *Store) AddView(ctx context.Context, v *savedview.View) error {
	err := s.change(ctx, v, func(tx *sql.Tx, filters, columns string) error {
		var n int
		if err := tx.QueryRowContext(ctx, `select count(*) from saved_views where workspace_id = $1`, v.WorkspaceID).Scan(&n); err != nil {
			return err
		}
		if n >= savedview.Max {
			return savedview.ErrTooMany
		}
		_, err := tx.ExecContext(ctx, `insert into saved_views (workspace_id, id, name, page, filters, columns, sort, created_by, created_at)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			v.WorkspaceID, v.ID, v.Name, v.Page, filters, columns, v.Sort, v.CreatedBy, sqldb.Millis(v.CreatedAt))
		return err
	})
	if err != nil {
		return fmt.Errorf("save view: %w", err)
	}
	return nil
}

// UpdateView replaces the name, filters, columns and order of a view. It returns savedview.ErrNotFound for an unknown view.
func (s *Store) UpdateView(ctx context.Context, v *savedview.View) error {
	err := s.change(ctx, v, func(tx *sql.Tx, filters, columns string) error {
		return affected(tx.ExecContext(ctx, `update saved_views set name = $3, filters = $4, columns = $5, sort = $6 where workspace_id = $1 and id = $2`,
			v.WorkspaceID, v.ID, v.Name, filters, columns, v.Sort))
	})
	if err != nil {
		return fmt.Errorf("change view: %w", err)
	}
	return nil
}

func (s *Store) change(ctx context.Context, v *savedview.View, write func(tx *sql.Tx, filters, columns string) error) error {
	filters, err := json.Marshal(v.Filters)
	if err != nil {
		return err
	}
	columns, err := json.Marshal(v.Columns)
	if err != nil {
		return err
	}
	err = s.db.InTx(ctx, func(tx *sql.Tx) error { return write(tx, string(filters), string(columns)) })
	if sqldb.IsUnique(err) {
		return savedview.ErrNameTaken
	}
	return err
}

// DeleteView deletes a view. It returns savedview.ErrNotFound for an unknown view.
func (s *Store) DeleteView(ctx context.Context, workspaceID, id string) error {
	if err := affected(s.db.Exec(ctx, `delete from saved_views where workspace_id = $1 and id = $2`, workspaceID, id)); err != nil {
		return fmt.Errorf("delete view: %w", err)
	}
	return nil
}

// affected returns savedview.ErrNotFound if a statement changed no row.
func affected(res sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		return savedview.ErrNotFound
	}
	return err
}
