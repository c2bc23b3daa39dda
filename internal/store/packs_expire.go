package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// expirePacks is how many packs one transaction takes texts out of.
const expirePacks = expireBatch / Size

// expirePacked takes the texts of a workspace's entries before an id out of their packs, marks the entries, and returns how many
// those were.
func (db *DB) expirePacked(ctx context.Context, workspace, before string) (total int64, err error) {
	for {
		var packs, entries int
		if err := db.InTx(ctx, func(tx *sql.Tx) (err error) {
			packs, entries, err = db.expireSome(ctx, tx, workspace, before)
			return err
		}); err != nil {
			return total, err
		}
		total += int64(entries)
		if packs < expirePacks {
			return total, nil
		}
	}
}

func (db *DB) expireSome(ctx context.Context, tx *sql.Tx, workspace, before string) (packs, entries int, err error) {
	const q = `select number from packed_bodies where workspace_id = $1 and oldest < $2 order by oldest limit $3`
	numbers, err := Column[int64](ctx, tx, q, workspace, before, expirePacks)
	if err != nil {
		return 0, 0, err
	}
	var ids []string
	for _, number := range numbers {
		_, all, err := db.packAt(ctx, tx, "packed_bodies", "content", number)
		if err != nil {
			return 0, 0, err
		}
		for i, slot := range all {
			if len(slot) == 0 {
				continue
			}
			id, _, err := CutSized(slot)
			if err != nil {
				return 0, 0, err
			}
			if string(id) < before {
				ids, all[i] = append(ids, string(id)), nil
			}
		}
		if err := db.putBodies(ctx, tx, number, all); err != nil {
			return 0, 0, err
		}
	}
	return len(numbers), len(ids), forIDs(ctx, tx, workspace, ids, markExpired)
}

// emptyPlaces takes entries out of the packs that they are in. What is deleted is overwritten with its pack.
func (db *DB) emptyPlaces(ctx context.Context, tx *sql.Tx, workspace string, ids []string) error {
	if db.dialect != SQLite || len(ids) == 0 {
		return nil
	}
	q := fmt.Sprintf(`select place from requests where workspace_id = $1 and id in (%s) and place is not null`, Placeholders(2, len(ids)))
	places, err := Column[int64](ctx, tx, q, append([]any{workspace}, Args(ids)...)...)
	if err != nil {
		return err
	}
	slices.Sort(places)
	for _, column := range []string{"summaries", "traces"} {
		put := func(number int64, all Slots) error { return db.putDetails(ctx, tx, column, number, all) }
		if err := db.emptyIn(ctx, tx, "packs", column, places, put); err != nil {
			return err
		}
	}
	return db.emptyIn(ctx, tx, "packed_bodies", "content", places, func(number int64, all Slots) error { return db.putBodies(ctx, tx, number, all) })
}

// emptyIn empties the slots at places, which are in order, in a column of packs.
func (db *DB) emptyIn(ctx context.Context, tx *sql.Tx, table, column string, places []int64, put func(number int64, all Slots) error) error {
	for len(places) > 0 {
		number, all, err := db.packAt(ctx, tx, table, column, places[0])
		if err != nil {
			return err
		}
		if all == nil { // its texts have expired, or the whole pack is deleted
			places = places[1:]
			continue
		}
		for len(places) > 0 && places[0]-number < int64(len(all)) {
			all[places[0]-number], places = nil, places[1:]
		}
		if err := put(number, all); err != nil {
			return err
		}
	}
	return nil
}

// packAt reads a column of the pack that a place belongs to; nil when there is none.
func (db *DB) packAt(ctx context.Context, tx *sql.Tx, table, column string, place int64) (number int64, all Slots, err error) {
	q := fmt.Sprintf(`select number, %[2]s from %[1]s where number = (select max(number) from %[1]s where number <= $1) and $1 < number + size`, table, column)
	var content []byte
	if err := tx.QueryRowContext(ctx, q, place).Scan(&number, &content); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return 0, nil, nil
		}
		return 0, nil, err
	}
	if all, err = db.codec.DecodeSlots(content); err != nil {
		return 0, nil, fmt.Errorf("%s %d: %w", table, number, err)
	}
	return number, all, nil
}

// putDetails writes a column of a pack back; a pack that is empty is deleted.
func (db *DB) putDetails(ctx context.Context, tx *sql.Tx, column string, number int64, all Slots) error {
	content := db.codec.EncodeSlots(all)
	if content == nil {
		_, err := tx.ExecContext(ctx, `delete from packs where number = $1`, number)
		return err
	}
	_, err := tx.ExecContext(ctx, `update packs set `+column+` = $2 where number = $1`, number, content)
	return err
}

// putBodies writes a pack of texts back; one that is empty is deleted.
func (db *DB) putBodies(ctx context.Context, tx *sql.Tx, number int64, all Slots) error {
	b, err := db.codec.EncodeBodies(all)
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
