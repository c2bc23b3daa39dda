package logstore

import (
	"os"
	"testing"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/configstore"
	"fairlead.dev/internal/store/feedbackstore"
	"fairlead.dev/internal/store/figurestore"
	"fairlead.dev/internal/store/pgtest"
	"fairlead.dev/internal/store/proofstore"
	"fairlead.dev/internal/store/reportstore"
	"fairlead.dev/internal/store/sqldb"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// testDB is a log with the database that it is stored in.
type testDB struct {
	*sqldb.DB
	*Store
}

func newTestDB(t *testing.T, db *sqldb.DB, err error) *testDB {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return &testDB{db, New(db, figurestore.New(db), reportstore.New(db), NewSessionStore(db), feedbackstore.New(db), proofstore.New(db), configstore.New(db))}
}

func openTest(t *testing.T, dsn, dir string, o sqldb.Options) *testDB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), dsn, dir, o)
	return newTestDB(t, db, err)
}

func openFile(t *testing.T, dir string) *testDB {
	t.Helper()
	return openTest(t, "sqlite", dir, sqldb.Options{})
}

func textEntry(preview string) requestlog.Entry {
	now := time.Now()
	return requestlog.Entry{ID: id.New("req", now), Owner: requestlog.Owner{WorkspaceID: "ws"}, Timing: requestlog.Timing{Time: now}, Call: requestlog.Call{Preview: preview}}
}
