package configstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/store/sqldb"
)

// providersTopic is the revision topic for stored providers.
const providersTopic = "providers"

// AddProvider stores a provider. It returns provider.ErrConnected if the name is in use.
func (s *Store) AddProvider(ctx context.Context, p provider.Connected) error {
	const q = `insert into providers (name, vendor, format, base_url, options, free, allowed, created_by, created_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (name) do nothing`
	return s.changeProvider(ctx, p, provider.ErrConnected, q, p.Allowed, p.CreatedBy, sqldb.Millis(p.CreatedAt))
}

// UpdateProvider replaces the settings of a provider. It returns provider.ErrNotConnected if the provider does not exist.
func (s *Store) UpdateProvider(ctx context.Context, p provider.Connected) error {
	const q = `update providers set vendor = $2, format = $3, base_url = $4, options = $5, free = $6 where name = $1`
	return s.changeProvider(ctx, p, provider.ErrNotConnected, q)
}

// changeProvider runs a statement whose first six parameters are the name and the settings of a provider. If the statement changed no
// row, changeProvider returns the error passed as none.
func (s *Store) changeProvider(ctx context.Context, p provider.Connected, none error, q string, more ...any) error {
	options, err := json.Marshal(p.Options)
	if err != nil {
		return fmt.Errorf("store provider %s: %w", p.Name, err)
	}
	err = s.db.InTx(ctx, func(tx *sql.Tx) error {
		if _, err := sqldb.NextRevision(ctx, tx, providersTopic); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, q, append([]any{p.Name, p.Vendor, p.Format, p.BaseURL, string(options), sqldb.Flag(p.Free)}, more...)...)
		if err != nil {
			return err
		}
		return orNone(res, none)
	})
	if err != nil {
		return fmt.Errorf("store provider %s: %w", p.Name, err)
	}
	return nil
}

// orNone returns the error passed as none if a statement changed no row.
func orNone(res sql.Result, none error) error {
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		return none
	}
	return err
}

// DeleteProvider deletes a provider and all stored credentials under its name in one transaction. It returns
// provider.ErrNotConnected if the name has neither a provider nor credentials.
func (s *Store) DeleteProvider(ctx context.Context, name string) error {
	err := s.db.InTx(ctx, func(tx *sql.Tx) error {
		var deleted int64
		for _, step := range []struct{ topic, statement string }{
			{"credentials", `delete from credentials where provider = $1`}, {providersTopic, `delete from providers where name = $1`},
		} {
			if _, err := sqldb.NextRevision(ctx, tx, step.topic); err != nil {
				return err
			}
			res, err := tx.ExecContext(ctx, step.statement, name)
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			if err != nil {
				return err
			}
			deleted += n
		}
		if deleted == 0 {
			return provider.ErrNotConnected
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete provider %s: %w", name, err)
	}
	return nil
}

// ConnectedProviders lists the stored providers, oldest first.
func (s *Store) ConnectedProviders(ctx context.Context) ([]provider.Connected, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	rows, err := s.db.Query(ctx, `select name, vendor, format, base_url, options, free, allowed, created_by, created_at from providers order by created_at, name`)
	list, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (provider.Connected, error) {
		var p provider.Connected
		var options string
		var free, created int64
		if err := row.Scan(&p.Name, &p.Vendor, &p.Format, &p.BaseURL, &options, &free, &p.Allowed, &p.CreatedBy, &created); err != nil {
			return p, err
		}
		p.Free, p.CreatedAt = free != 0, sqldb.FromMillis(created)
		return p, json.Unmarshal([]byte(options), &p.Options)
	})
	if err != nil {
		return nil, fmt.Errorf("list stored providers: %w", err)
	}
	return list, nil
}
