package store_test

import (
	"testing"

	"fairlead.dev/internal/store/storetest"
)

func TestReplayInSQLite(t *testing.T) {
	t.Parallel()
	storetest.Replay(t, openSQLite)
}

func TestReplayInPostgres(t *testing.T) {
	t.Parallel()
	storetest.Replay(t, openPostgres)
}
