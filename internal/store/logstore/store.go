// Package logstore stores the request log: it writes batches of entries, finds and reads them, and deletes them when their retention is
// over. In PostgreSQL, each entry has its own rows in daily partitions. In SQLite, a block contains the details and bodies of several
// entries, one slot for each. Slots are numbered across all blocks; the column place holds the slot number of a request.
package logstore

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/configstore"
	"fairlead.dev/internal/store/entryblock"
	"fairlead.dev/internal/store/feedbackstore"
	"fairlead.dev/internal/store/figurestore"
	"fairlead.dev/internal/store/messagestore"
	"fairlead.dev/internal/store/partition"
	"fairlead.dev/internal/store/proofstore"
	"fairlead.dev/internal/store/reportstore"
	"fairlead.dev/internal/store/sqldb"
)

// Store implements requestlog.Reader, requestlog.Writer and replay.Source.
type Store struct {
	db *sqldb.DB
	related
	partitions *partition.Set
	messages   *messagestore.Store
	codec      *entryblock.Codec
	details    detailReader
	blocks     blockTables
	inserters  inserters
	statements []string                        // SQLite statements that write a batch
	buffers    sync.Pool                       // pool of *batchBuffers
	retention  atomic.Pointer[retentionBounds] // retentions of all workspaces; nil until Retain is called
}

// related holds the stores of other data about requests.
type related struct {
	figures  *figurestore.Store
	sessions *SessionStore
	reports  *reportstore.Store
	feedback *feedbackstore.Store
	proof    *proofstore.Store
	config   *configstore.Store
}

// New returns the request log stored in db. Writing a batch also writes its figures, report facts and sessions. Deleting entries also
// deletes their feedback and comparisons. Expire also deletes expired figures and archived versions.
func New(db *sqldb.DB, figures *figurestore.Store, reports *reportstore.Store, sessions *SessionStore, feedback *feedbackstore.Store, proof *proofstore.Store, config *configstore.Store) *Store {
	codec := entryblock.NewCodec()
	text, number, bytes := sqldb.TextFields, sqldb.NumberFields, sqldb.BytesFields
	s := &Store{
		db: db, related: related{figures: figures, reports: reports, sessions: sessions, feedback: feedback, proof: proof, config: config},
		partitions: partition.NewSet(db),
		codec:      codec, details: detailReader{db.Dialect(), codec}, blocks: blockTables{codec}, buffers: sync.Pool{New: func() any { return &batchBuffers{} }},
		inserters: inserters{
			requests:         sqldb.NewInserter("requests", requestFields(), sqldb.KeepExisting),
			requestsInBlocks: sqldb.NewInserter("requests", slices.Concat(requestFields(), number("place")), sqldb.KeepExisting),
			details:          sqldb.NewInserter("details", slices.Concat(text("workspace_id", "request_id", "summary"), bytes("trace")), sqldb.KeepExisting),
			bodies:           sqldb.NewInserter("bodies", slices.Concat(text("workspace_id", "request_id"), bytes("request", "response"), number("streamed")), sqldb.KeepExisting),
			blocks:           sqldb.NewInserter("packs", slices.Concat(number("number", "size"), bytes("summaries", "traces")), ""),
			bodyBlocks:       sqldb.NewInserter("packed_bodies", slices.Concat(number("number", "size"), text("workspace_id", "oldest"), number("held"), bytes("content")), ""),
			tags:             sqldb.NewInserter("tags", text("workspace_id", "tag", "request_id"), sqldb.KeepExisting),
			journal:          sqldb.NewInserter("export_journal", text("workspace_id", "record_id"), ""),
			ledger:           sqldb.NewInserter("ledger", slices.Concat(text("request_id", "workspace_id", "key_id"), number("at", "amount")), sqldb.KeepExisting),
		},
	}
	s.messages = messagestore.New(db, codec, s.outlines)
	s.statements = slices.Concat(figures.Statements(), reports.Statements(), sessions.Statements(), s.messages.Statements())
	for _, in := range []*sqldb.Inserter{s.inserters.requestsInBlocks, s.inserters.blocks, s.inserters.bodyBlocks, s.inserters.tags, s.inserters.ledger, s.inserters.journal} {
		s.statements = append(s.statements, in.Statements()...)
	}
	return s
}

// MaintainPartitions creates the partitions of the days around now, and moves entries out of the default partitions.
// SQLite has no partitions.
func (s *Store) MaintainPartitions(ctx context.Context) error { return s.partitions.Maintain(ctx) }

// query returns a statement builder that hides expired entries and bodies.
func (s *Store) query() queryBuilder {
	b := queryBuilder{Dialect: s.db.Dialect()}
	if r := s.retention.Load(); r != nil {
		b.EntriesFrom, b.BodiesFrom = r.entriesFrom, r.bodiesFrom
	}
	return b
}

// inserters write the tables of the log.
type inserters struct {
	requests         *sqldb.Inserter // PostgreSQL: requests
	requestsInBlocks *sqldb.Inserter // SQLite: requests with their slot number
	details          *sqldb.Inserter
	bodies           *sqldb.Inserter
	blocks           *sqldb.Inserter
	bodyBlocks       *sqldb.Inserter
	tags             *sqldb.Inserter
	ledger           *sqldb.Inserter
	journal          *sqldb.Inserter // ids of entries to export
}

// requestFields returns the columns of the requests table: those of requestlog.Columns, and those that only lists and searches use.
func requestFields() []sqldb.Field {
	fields := sqldb.TextFields("workspace_id")
	for _, c := range requestlog.Columns() {
		switch {
		case c.Kind == requestlog.Text:
			fields = append(fields, sqldb.TextFields(c.Stored)...)
		case c.IsRange():
			fields = append(fields, sqldb.NumberFields(c.Stored, c.Stored+"_class")...)
		default:
			fields = append(fields, sqldb.NumberFields(c.Stored)...)
		}
	}
	return append(fields, sqldb.TextFields("preview", "failure", "body_state")...)
}

// requestRow returns the values of requestFields. The slice has capacity for the slot number, which insertBlocks appends.
func requestRow(e *requestlog.Entry) []any {
	row := append(make([]any, 0, 32), e.WorkspaceID)
	columns := requestlog.Columns()
	for i := range columns {
		c := &columns[i]
		if c.Kind == requestlog.Text {
			row = append(row, c.TextOf(e))
			continue
		}
		n, known := c.NumberOf(e)
		switch {
		case c.IsRange() && !known:
			row = append(row, nil, nil)
		case c.IsRange():
			row = append(row, n, classOf(n))
		default:
			row = append(row, n)
		}
	}
	return append(row, e.PreviewText(), e.FailureText(), string(e.BodyState))
}
