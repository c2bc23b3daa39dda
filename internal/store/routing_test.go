package store_test

import (
	"testing"

	"fairlead.dev/internal/store/storetest"
)

func TestRoutingInSQLite(t *testing.T) {
	t.Parallel()
	storetest.Routing(t, openSQLite)
}

func TestRoutingInPostgres(t *testing.T) {
	t.Parallel()
	storetest.Routing(t, openPostgres)
}
