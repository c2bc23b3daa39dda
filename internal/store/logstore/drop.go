package logstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/partition"
	"fairlead.dev/internal/store/sqldb"
)

// dropPartitions drops the partitions of days past the longest retention: first the partitions of expired bodies, then all
// partitions of expired entries. Each partition is dropped in its own transaction. The partitions of requests are dropped last, so
// that an interrupted run can continue.
func (s *Store) dropPartitions(ctx context.Context, r *retentionBounds, total *Expired) error {
	if s.db.Dialect() != sqldb.Postgres {
		return nil
	}
	if r.bodiesFrom != "" {
		if err := s.dropBodies(ctx, r.now.Add(-r.longest.Bodies), total); err != nil {
			return fmt.Errorf("drop bodies: %w", err)
		}
	}
	if r.entriesFrom == "" {
		return nil
	}
	for _, t := range slices.Backward(partition.Tables()) {
		n, err := s.partitions.DropTable(ctx, t, r.now.Add(-r.longest.Entries))
		if err != nil {
			return fmt.Errorf("drop %s: %w", t.Name, err)
		}
		if t.Name == "requests" {
			total.Entries += n
		}
	}
	return nil
}

// dropBodies marks the entries whose bodies have expired, removes their previews, and drops the bodies.
func (s *Store) dropBodies(ctx context.Context, bound time.Time, total *Expired) error {
	bodies := partition.Table{Name: "bodies", Key: "request_id"}
	expired, err := s.partitions.Expired(ctx, bodies, bound)
	if err != nil {
		return err
	}
	for _, name := range expired {
		if err := s.markPartition(ctx, name, ""); err != nil {
			return err
		}
		n, err := s.partitions.Drop(ctx, bodies, name)
		if err != nil {
			return err
		}
		total.Bodies += n
	}
	if err := s.markPartition(ctx, bodies.Default(), requestlog.FloorID(bound)); err != nil {
		return err
	}
	n, err := s.partitions.DeleteDefault(ctx, bodies, bound)
	total.Bodies += n
	if err != nil {
		return err
	}
	for _, t := range partition.Tables() {
		if !t.Numbered {
			continue // the table bodies is dropped above, and the other tables are dropped with the entries
		}
		if _, err := s.partitions.DropTable(ctx, t, bound); err != nil {
			return err
		}
	}
	return nil
}

// markPartition marks the bodies in a partition as expired and removes the previews of their entries. If before is not empty, it
// processes only entries with lower ids.
func (s *Store) markPartition(ctx context.Context, name, before string) error {
	workspace, after := "", ""
	q := `select workspace_id, request_id from ` + name + ` where (workspace_id, request_id) > ($1, $2) and ($3 = '' or request_id < $3)
		order by workspace_id, request_id limit ` + fmt.Sprint(sqldb.DeleteBatch)
	for {
		type row struct{ workspace, id string }
		rows, err := s.db.Query(ctx, q, workspace, after, before)
		some, err := sqldb.Collect(rows, err, func(s sqldb.Scanner) (r row, err error) {
			err = s.Scan(&r.workspace, &r.id)
			return r, err
		})
		if err != nil || len(some) == 0 {
			return err
		}
		byWorkspace := map[string][]string{}
		for _, r := range some {
			byWorkspace[r.workspace] = append(byWorkspace[r.workspace], r.id)
		}
		if err := s.db.InTx(ctx, func(tx *sql.Tx) error {
			for ws, ids := range byWorkspace {
				if err := forIDs(ctx, tx, ws, ids, markExpired); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		workspace, after = some[len(some)-1].workspace, some[len(some)-1].id
	}
}
