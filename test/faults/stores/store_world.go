// Package stores holds the fault cases about storage: kills, a full or failing disk, an unavailable database, migrations.
package stores

import (
	"database/sql"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/store/pgtest"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// Cases lists the cases about databases and disks.
func Cases() []scenario.Case {
	return []scenario.Case{
		{ID: "F02", Name: "kill -9 one of two replicas", Run: replicaKilled},
		{ID: "F03", Name: "the database is stopped, hangs or is slow", Run: databaseAway},
		{ID: "F04", Name: "the database is unavailable at startup", Run: databaseAbsent},
		{ID: "F06", Name: "the disk rejects writes and syncs", Run: diskFails},
		{ID: "F08", Name: "a hundred concurrent writers, readers and commands", Run: manyWriters},
		{ID: "F09", Name: "power failure", Run: powerCut},
		{ID: "F60", Name: "killed during the first start", Run: migrationKilled},
	}
}

// database is a PostgreSQL server of a case, with a proxy that can be made slow or silent.
type database struct {
	*pgtest.Owned
	proxy scenario.Proxy
}

// newDatabase prepares a server without starting it. The proxy is already running.
func newDatabase(t testing.TB) *database {
	t.Helper()
	own := pgtest.Own(t)
	return &database{own, scenario.NewProxy(t, own.Address())}
}

// config returns the configuration of a gateway with this database and with the provider scenario.Paced.
func (d *database) config(t testing.TB, words int, more ...string) string {
	t.Helper()
	url := harness.Serve(t, scenario.Paced(words))
	lines := append([]string{"store: " + pgtest.DSN(d.proxy.Listen), "master_key: " + strings.Repeat("0123456789abcdef", 4)}, more...)
	return harness.Config(t, []harness.Provider{{Name: "alpha", BaseURL: url + "/v1", Models: []harness.Model{harness.Chat("plain", 0.4, 1.6, 0.5)}}}, lines...)
}

// open connects to the database directly, not through the proxy.
func (d *database) open(t testing.TB) *sql.DB {
	t.Helper()
	return d.openNamed(t, "postgres")
}

// openNamed connects to another database of the server.
func (d *database) openNamed(t testing.TB, name string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", strings.Replace(d.DSN(), "/postgres?", "/"+name+"?", 1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// stored counts the entries in the database.
func (d *database) stored(t testing.TB, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), `select count(*) from requests`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// within waits until holds returns true, and returns how long that took.
func within(t testing.TB, limit time.Duration, what string, holds func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !holds() {
		if time.Since(began) > limit {
			t.Errorf("timed out after %s waiting until %s", limit, what)
			break
		}
		time.Sleep(20 * time.Millisecond) // another process cannot be watched with a fake clock
	}
	return time.Since(began)
}

// readiness returns the status of /readyz.
func readiness(t testing.TB, g *harness.Gateway) int {
	t.Helper()
	return g.Call(t, harness.Request{Method: http.MethodGet, Path: "/readyz"}).Status
}
