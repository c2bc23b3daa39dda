package store

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestUnavailableExcludesErrorsOfTheData(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want bool
	}{
		{context.DeadlineExceeded, true},
		{&pgconn.ConnectError{}, true},
		{&pgconn.PgError{Code: "57P01"}, true},
		{&pgconn.PgError{Code: "53100"}, true},
		{&pgconn.PgError{Code: "40P01"}, true},
		{&pgconn.PgError{Code: "25006"}, true},
		{&pgconn.PgError{Code: "42P01"}, true},  // a table is missing
		{&pgconn.PgError{Code: "22021"}, false}, // the text is invalid
		{&pgconn.PgError{}, false},
		{errors.New("something else"), false},
	} {
		if got := Unavailable(fmt.Errorf("write 2 entries: %w", test.err)); got != test.want {
			t.Errorf("Unavailable(%v) = %t, want %t", test.err, got, test.want)
		}
	}
}
