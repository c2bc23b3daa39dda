package logstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"fairlead.dev/internal/store/entryblock"
	"fairlead.dev/internal/store/sqldb"
)

// expireBlockCount is the number of blocks that one transaction removes bodies from.
const expireBlockCount = sqldb.DeleteBatch / entryblock.MaxEntries

// expireSome processes up to expireBlockCount blocks of a workspace. It removes the bodies of entries whose ID is less than before,
// and marks these bodies as expired. It returns the number of blocks and entries processed.
func (s *Store) expireSome(ctx context.Context, tx *sql.Tx, workspace, before string) (blocks, entries int, err error) {
	const q = `select number from packed_bodies where workspace_id = $1 and oldest < $2 order by oldest limit $3`
	numbers, err := sqldb.Column[int64](ctx, tx, q, workspace, before, expireBlockCount)
	if err != nil {
		return 0, 0, err
	}
	var ids []string
	for _, number := range numbers {
		_, all, err := s.blocks.at(ctx, tx, "packed_bodies", "content", number)
		if err != nil {
			return 0, 0, err
		}
		for i, slot := range all {
			if len(slot) == 0 {
				continue
			}
			id, _, err := entryblock.CutSized(slot)
			if err != nil {
				return 0, 0, err
			}
			if string(id) < before {
				ids, all[i] = append(ids, string(id)), nil
			}
		}
		if err := s.blocks.updateBodies(ctx, tx, number, all); err != nil {
			return 0, 0, err
		}
	}
	return len(numbers), len(ids), forIDs(ctx, tx, workspace, ids, markExpired)
}

// blockTables changes the blocks of stored entries in SQLite.
type blockTables struct{ codec *entryblock.Codec }

// remove removes entries from their blocks. Rewriting a block overwrites the deleted text.
func (t blockTables) remove(ctx context.Context, tx *sql.Tx, workspace string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	q := fmt.Sprintf(`select place from requests where workspace_id = $1 and id in (%s)`, sqldb.Placeholders(2, len(ids)))
	slotNumbers, err := sqldb.Column[int64](ctx, tx, q, append([]any{workspace}, sqldb.Args(ids)...)...)
	if err != nil {
		return err
	}
	slices.Sort(slotNumbers)
	for _, column := range []string{"summaries", "traces"} {
		if err := t.clearSlots(ctx, tx, "packs", column, slotNumbers, func(number int64, all entryblock.Slots) error {
			if content := t.codec.EncodeSlots(all); content != nil {
				_, err := tx.ExecContext(ctx, `update packs set `+column+` = $2 where number = $1`, number, content)
				return err
			}
			_, err := tx.ExecContext(ctx, `delete from packs where number = $1`, number)
			return err
		}); err != nil {
			return err
		}
	}
	return t.clearSlots(ctx, tx, "packed_bodies", "content", slotNumbers, func(number int64, all entryblock.Slots) error {
		return t.updateBodies(ctx, tx, number, all)
	})
}

// clearSlots empties the slots with the given numbers in one column of a table of blocks. The numbers must be sorted.
func (t blockTables) clearSlots(ctx context.Context, tx *sql.Tx, table, column string, slotNumbers []int64, update func(number int64, all entryblock.Slots) error) error {
	for len(slotNumbers) > 0 {
		number, all, err := t.at(ctx, tx, table, column, slotNumbers[0])
		if err != nil {
			return err
		}
		if all == nil { // the bodies have expired, or the block was deleted
			slotNumbers = slotNumbers[1:]
			continue
		}
		for len(slotNumbers) > 0 && slotNumbers[0]-number < int64(len(all)) {
			all[slotNumbers[0]-number], slotNumbers = nil, slotNumbers[1:]
		}
		if err := update(number, all); err != nil {
			return err
		}
	}
	return nil
}

// at reads one column of the block that contains the given slot number. It returns nil if no block contains the slot.
func (t blockTables) at(ctx context.Context, tx *sql.Tx, table, column string, slotNumber int64) (number int64, all entryblock.Slots, err error) {
	q := fmt.Sprintf(`select number, %[2]s from %[1]s where number = (select max(number) from %[1]s where number <= $1) and $1 < number + size`, table, column)
	var content []byte
	if err := tx.QueryRowContext(ctx, q, slotNumber).Scan(&number, &content); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return 0, nil, nil
		}
		return 0, nil, err
	}
	if all, err = t.codec.DecodeSlots(content); err != nil {
		return 0, nil, fmt.Errorf("decode %s, block %d: %w", table, number, err)
	}
	return number, all, nil
}

// updateBodies writes a block of bodies, and deletes a block that has become empty.
func (t blockTables) updateBodies(ctx context.Context, tx *sql.Tx, number int64, all entryblock.Slots) error {
	b, err := t.codec.EncodeBodies(all)
	if err != nil {
		return err
	}
	if b.Held == 0 {
		_, err := tx.ExecContext(ctx, `delete from packed_bodies where number = $1`, number)
		return err
	}
	const q = `update packed_bodies set oldest = $2, held = $3, content = $4 where number = $1`
	_, err = tx.ExecContext(ctx, q, number, b.Oldest, b.Held, b.Content)
	return err
}
