// Package store assembles the parts that store data in SQLite or PostgreSQL: the request log, figures, accounts,
// feedback and configuration. Each part has its own SQL and uses package sqldb.
package store

import (
	"context"
	"errors"

	"fairlead/internal/store/accountstore"
	"fairlead/internal/store/configstore"
	"fairlead/internal/store/feedbackstore"
	"fairlead/internal/store/figurestore"
	"fairlead/internal/store/logstore"
	"fairlead/internal/store/proofstore"
	"fairlead/internal/store/sessionstore"
	"fairlead/internal/store/sqldb"
)

// DB is an open database with all parts of the store. It is safe for concurrent use.
type DB struct {
	*sqldb.DB
	Accounts *accountstore.Store
	Config   *configstore.Store
	Feedback *feedbackstore.Store
	Figures  *figurestore.Store
	Proof    *proofstore.Store
	Sessions *sessionstore.Store
	Log      *logstore.Store
}

// Options adjusts how a database is opened.
type Options = sqldb.Options

// Open opens the database named by dsn ("sqlite" for a file in dataDir, or a postgres:// URL) and migrates its schema.
// It returns sqldb.ErrNewerSchema when a newer version of the program has migrated it.
func Open(ctx context.Context, dsn, dataDir string, o Options) (*DB, error) {
	core, err := sqldb.Open(ctx, dsn, dataDir, o)
	if err != nil {
		return nil, err
	}
	db := &DB{
		DB: core, Accounts: accountstore.New(core), Config: configstore.New(core), Feedback: feedbackstore.New(core), Figures: figurestore.New(core),
		Proof:    proofstore.New(core),
		Sessions: sessionstore.New(core),
	}
	db.Log = logstore.New(core, db.Figures, db.Sessions, db.Feedback, db.Proof, db.Config)
	return db, nil
}

// Reach checks that the database named by dsn responds. It returns the error if it does not. It does not change the
// schema.
func Reach(ctx context.Context, dsn, dataDir string) error {
	core, err := sqldb.Connect(dsn, dataDir, Options{Connections: 1})
	if err != nil {
		return err
	}
	return errors.Join(core.Ping(ctx), core.Close())
}
