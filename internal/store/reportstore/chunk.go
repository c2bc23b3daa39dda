package reportstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"time"

	"fairlead.dev/internal/report"
	"fairlead.dev/internal/store/sqldb"
)

const (
	sortFacts  = 300_000 // number of facts after which a step stops reading blocks
	chunkFacts = 2000
	sortDelay  = time.Hour // time after the end of a day before its facts are sorted
)

// sortStep computes the step that moves facts of an ended day to chunks, sorted by end user and session, and to the sample. Facts
// that arrive later form further chunks.
func (s *Store) sortStep(ctx context.Context, query query) (*step, error) {
	today := s.db.Now().Add(-sortDelay).UTC().Truncate(24 * time.Hour).UnixMilli()
	at, found, err := due(ctx, query, `select workspace_id, start, class from report_facts where start < $1 order by start limit 1`, today)
	if err != nil || !found {
		return nil, err
	}
	st := &step{at: at}
	st.at.start -= at.start % dayMillis
	whole := &builder{}
	const unsorted = `select start, number, data from report_facts where workspace_id = $1 and class = $2 and start >= $3 and start < $4 order by start, number`
	rows, err := query(ctx, unsorted, at.workspace, at.class, st.at.start, st.at.start+dayMillis) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	if err := sqldb.Each(rows, err, func(row sqldb.Scanner) error {
		if whole.n >= sortFacts {
			return nil
		}
		var key [2]int64
		var data sql.RawBytes
		if err := row.Scan(&key[0], &key[1], &data); err != nil {
			return err
		}
		b, err := s.parse(data)
		if err != nil {
			return err
		}
		st.hours = append(st.hours, key)
		return whole.append(b, nil)
	}); err != nil {
		return nil, err
	}
	number := int64(0)
	rows, err = query(ctx, `select coalesce(max(number), 0) from report_chunks where workspace_id = $1 and start = $2`, at.workspace, st.at.start) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	if err := sqldb.Each(rows, err, func(row sqldb.Scanner) error { return row.Scan(&number) }); err != nil {
		return nil, err
	}
	return st, s.addChunks(st, whole, number+1)
}

// addChunks adds the rows of chunks and of the sample to a step.
func (s *Store) addChunks(st *step, whole *builder, number int64) error {
	facts, err := parseBlock(whole.encode())
	if err != nil {
		return err
	}
	stride := (facts.n + s.SampleSize - 1) / s.SampleSize
	var sampled []int
	for first := 0; first < facts.n; first += stride { // select one of every stride facts, which are in order of time
		offset := int(uint32(first/stride)*0x9e3779b1>>8) % stride //nolint:gosec // the overflow is part of the hash, which keeps periodic traffic from biasing the sample
		if i := first + offset; i < facts.n {
			sampled = append(sampled, i)
		}
	}
	sample := &builder{}
	if err := sample.append(facts, sampled); err != nil {
		return err
	}
	st.samples = append(st.samples, []any{st.at.workspace, st.at.start, number, st.at.class, int64(stride), s.codec.Pack(sample.encode())})
	var order [2][]int // rank of each end user and each session
	for k, column := range [...]int{rank(report.User), rank(report.Session)} {
		order[k] = ranks(whole.text[column].values)
	}
	users, sessions := &whole.text[rank(report.User)], &whole.text[rank(report.Session)]
	positions := make([]int, facts.n)
	for i := range positions {
		positions[i] = i
	}
	slices.SortStableFunc(positions, func(a, b int) int {
		return cmp.Or(cmp.Compare(order[0][users.index[a]], order[0][users.index[b]]), cmp.Compare(order[1][sessions.index[a]], order[1][sessions.index[b]]))
	})
	for some := range slices.Chunk(positions, chunkFacts) {
		chunk := &builder{}
		if err := chunk.append(facts, some); err != nil {
			return err
		}
		st.chunks = append(st.chunks, s.chunkRow(st.at, number, chunk))
		number++
	}
	return nil
}

// chunkRow returns the row of a chunk.
func (s *Store) chunkRow(at place, number int64, b *builder) []any {
	users := b.text[rank(report.User)].values
	var hashes []uint16
	for _, session := range b.text[rank(report.Session)].values {
		hashes = append(hashes, sessionHash(session))
	}
	slices.Sort(hashes)
	sessions := []byte{}
	for _, hash := range slices.Compact(hashes) {
		sessions = binary.BigEndian.AppendUint16(sessions, hash)
	}
	return []any{at.workspace, at.start, number, at.class, int64(b.n), slices.Min(users), slices.Max(users), sessions, s.codec.Pack(b.encode())}
}

// ranks returns the rank of each value in the sorted list of all values.
func ranks(values []string) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	found := make([]int, len(values))
	for position, i := range order {
		found[i] = position
	}
	return found
}

func sessionHash(session string) uint16 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(session)) // Write never fails
	sum := h.Sum32()
	return uint16(sum>>16) ^ uint16(sum) //nolint:gosec // both halves of the hash are combined
}

// hasSession reports whether the hashes of a chunk include the hash of one of the sessions.
func hasSession(hashes []byte, sessions []string) bool {
	for _, session := range sessions {
		hash := sessionHash(session)
		for at := 0; at+2 <= len(hashes); at += 2 {
			if binary.BigEndian.Uint16(hashes[at:]) == hash {
				return true
			}
		}
	}
	return false
}
