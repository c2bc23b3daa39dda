package configstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/store/sqldb"
)

// listedRetention is the time for which a model is kept after the latest model list that contained it.
const listedRetention = 90 * 24 * time.Hour

// SaveModelList records the model list that a provider returned at the given time. If the list is complete, the missed count of
// each stored model of the provider that is not in the list is incremented.
func (s *Store) SaveModelList(ctx context.Context, providerName string, models []string, complete bool, at time.Time) error {
	err := s.db.InTx(ctx, func(tx *sql.Tx) error {
		// The revision serialises the replicas, which would otherwise deadlock by locking rows in different orders.
		if _, err := sqldb.NextRevision(ctx, tx, "model_lists"); err != nil {
			return err
		}
		const save = `insert into listed_models (provider, model, first_seen, last_seen, missed) values ($1, $2, $3, $3, 0)
			on conflict (provider, model) do update set last_seen = excluded.last_seen, missed = 0`
		for _, model := range models {
			if _, err := tx.ExecContext(ctx, save, providerName, model, sqldb.Millis(at)); err != nil {
				return err
			}
		}
		if complete {
			const miss = `update listed_models set missed = missed + 1 where provider = $1 and last_seen < $2`
			if _, err := tx.ExecContext(ctx, miss, providerName, sqldb.Millis(at)); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `delete from listed_models where last_seen < $1`, sqldb.Millis(at.Add(-listedRetention)))
		return err
	})
	if err != nil {
		return fmt.Errorf("save the model list of %s: %w", providerName, err)
	}
	return nil
}

// ListedModels returns the models of all saved lists, sorted by provider and model.
func (s *Store) ListedModels(ctx context.Context) ([]provider.ListedModel, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	rows, err := s.db.Query(ctx, `select provider, model, first_seen, last_seen, missed from listed_models order by provider, model`)
	list, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (provider.ListedModel, error) {
		var m provider.ListedModel
		var first, last int64
		err := row.Scan(&m.Provider, &m.Model, &first, &last, &m.Missed)
		m.FirstSeen, m.LastSeen = sqldb.FromMillis(first), sqldb.FromMillis(last)
		return m, err
	})
	if err != nil {
		return nil, fmt.Errorf("read model lists: %w", err)
	}
	return list, nil
}
