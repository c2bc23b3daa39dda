package store_test

import (
	"testing"

	"fairlead/internal/store/storetest"
)

func TestAccountsInSQLite(t *testing.T) {
	t.Parallel()
	storetest.Accounts(t, openSQLite)
}

func TestAccountsInPostgres(t *testing.T) {
	t.Parallel()
	storetest.Accounts(t, openPostgres)
}
