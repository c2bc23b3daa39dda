// Package store assembles the parts that store data in SQLite or PostgreSQL: the request log, figures, accounts,
// feedback, alerts and configuration. Each part has its own SQL and uses package sqldb.
package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/store/accountstore"
	"fairlead.dev/internal/store/configstore"
	"fairlead.dev/internal/store/feedbackstore"
	"fairlead.dev/internal/store/figurestore"
	"fairlead.dev/internal/store/logstore"
	"fairlead.dev/internal/store/proofstore"
	"fairlead.dev/internal/store/reportstore"
	"fairlead.dev/internal/store/sqldb"
)

// DB is an open database with all parts of the store. It is safe for concurrent use.
type DB struct {
	*sqldb.DB
	Accounts *accountstore.Store
	Alerts   *Alerts
	Batches  *Batches
	Config   *configstore.Store
	Feedback *feedbackstore.Store
	Figures  *figurestore.Store
	Proof    *proofstore.Store
	Report   *reportstore.Store
	Sessions *logstore.SessionStore
	Log      *logstore.Store
}

// Options adjusts how a database is opened.
type Options = sqldb.Options

// Open opens the database named by dsn ("sqlite" for a file in dataDir, or a postgres:// URL) and migrates its schema.
// It returns sqldb.ErrNewerSchema or sqldb.ErrDevelopmentSchema for a database that this version cannot use.
func Open(ctx context.Context, dsn, dataDir string, o Options) (*DB, error) {
	core, err := sqldb.Open(ctx, dsn, dataDir, o)
	if err != nil {
		return nil, err
	}
	db := &DB{
		DB: core, Accounts: accountstore.New(core), Config: configstore.New(core), Feedback: feedbackstore.New(core), Figures: figurestore.New(core),
		Proof:    proofstore.New(core),
		Alerts:   newAlerts(core),
		Batches:  newBatches(core),
		Report:   reportstore.New(core),
		Sessions: logstore.NewSessionStore(core),
	}
	db.Log = logstore.New(core, db.Figures, db.Report, db.Sessions, db.Feedback, db.Proof, db.Config)
	return db, nil
}

// Charged returns the amount charged to a budget of the ledger since the given time. It excludes the given requests, which the caller
// counts itself, whether or not they are stored yet.
func (db *DB) Charged(ctx context.Context, budgetID string, since time.Time, except ...string) (spent money.Amount, err error) {
	switch kind, owner, _ := strings.Cut(budgetID, ":"); kind {
	case "ws":
		spent, err = db.Figures.Spent(ctx, "workspace", owner, since, except...)
	case "key":
		spent, err = db.Figures.Spent(ctx, kind, owner, since, except...)
	default: // a session, an end user or a comparison
		spent, err = db.Sessions.Spent(ctx, budgetID, since, except...)
	}
	if err != nil {
		return 0, fmt.Errorf("sum spending of %s: %w", budgetID, err)
	}
	return spent, nil
}

// Reach returns an error if the database named by dsn does not respond. It does not change the schema.
func Reach(ctx context.Context, dsn, dataDir string) error {
	core, err := sqldb.Connect(dsn, dataDir, Options{Connections: 1})
	if err != nil {
		return err
	}
	return errors.Join(core.Ping(ctx), core.Close())
}
