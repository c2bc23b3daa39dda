package store_test

import (
	"testing"

	"fairlead.dev/internal/store/storetest/accounttest"
)

func TestAccountsInSQLite(t *testing.T) {
	t.Parallel()
	accounttest.Run(t, openSQLite)
}

func TestAccountsInPostgres(t *testing.T) {
	t.Parallel()
	accounttest.Run(t, openPostgres)
}
