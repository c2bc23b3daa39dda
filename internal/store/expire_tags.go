package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"fairlead/internal/requestlog"
)

// deleteTags deletes the tags of entries. No index finds them by their request; the summaries say which there are.
func (db *DB) deleteTags(ctx context.Context, tx *sql.Tx, workspace string, ids []string) error {
	tagged, err := db.taggedIDs(ctx, tx, workspace, ids)
	if err != nil {
		return fmt.Errorf("read the tags of entries: %w", err)
	}
	for tag, some := range tagged {
		q := fmt.Sprintf(`delete from tags where workspace_id = $1 and tag = $2 and request_id in (%s)`, Placeholders(3, len(some)))
		if _, err := tx.ExecContext(ctx, q, append([]any{workspace, tag}, Args(some)...)...); err != nil {
			return err
		}
	}
	return nil
}

// taggedIDs tells which of the entries have which tag.
func (db *DB) taggedIDs(ctx context.Context, tx *sql.Tx, workspace string, ids []string) (map[string][]string, error) {
	tagged := map[string][]string{}
	err := db.eachDetail(ctx, tx, detailParts{}, workspace, ids, func(d detail) error {
		var e requestlog.Entry
		if err := json.Unmarshal(d.summary, &struct {
			Tags *map[string]string `json:"tags"`
		}{&e.Tags}); err != nil {
			return err
		}
		for _, term := range e.TagTerms() {
			tagged[term] = append(tagged[term], d.id)
		}
		return nil
	})
	return tagged, err
}
