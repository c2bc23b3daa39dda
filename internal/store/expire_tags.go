package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"fairlead/internal/requestlog"
)

// deleteTags deletes the tags of entries. No index finds them by their request; the summaries say which there are.
func deleteTags(ctx context.Context, tx *sql.Tx, workspace string, ids []string) error {
	tagged, err := taggedIDs(ctx, tx, workspace, ids)
	if err != nil {
		return fmt.Errorf("read the tags of entries: %w", err)
	}
	for tag, some := range tagged {
		q := fmt.Sprintf(`delete from tags where workspace_id = $1 and tag = $2 and request_id in (%s)`, list(3, len(some)))
		if _, err := tx.ExecContext(ctx, q, append([]any{workspace, tag}, anys(some)...)...); err != nil {
			return err
		}
	}
	return nil
}

// taggedIDs tells which of the entries have which tag.
func taggedIDs(ctx context.Context, tx *sql.Tx, workspace string, ids []string) (map[string][]string, error) {
	tagged := map[string][]string{}
	if len(ids) == 0 {
		return tagged, nil
	}
	q := fmt.Sprintf(`select request_id, summary from details where workspace_id = $1 and request_id in (%s)`, list(2, len(ids)))
	rows, err := tx.QueryContext(ctx, q, append([]any{workspace}, anys(ids)...)...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, summary string
		if err := rows.Scan(&id, &summary); err != nil {
			return nil, err
		}
		var e requestlog.Entry
		if err := json.Unmarshal([]byte(summary), &struct {
			Tags *map[string]string `json:"tags"`
		}{&e.Tags}); err != nil {
			return nil, fmt.Errorf("entry %s: %w", id, err)
		}
		for _, term := range e.TagTerms() {
			tagged[term] = append(tagged[term], id)
		}
	}
	return tagged, rows.Err()
}
