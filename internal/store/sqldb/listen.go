package sqldb

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// channel is the PostgreSQL notification channel for committed changes of revisions.
const channel = "fairlead_changes"

const (
	listenPause = 500 * time.Millisecond // pause before reconnecting
	listenPing  = 30 * time.Second       // idle time after which the connection is checked
	listenTime  = 5 * time.Second        // timeout of connecting and checking
)

// Listen calls onChange whenever a committed transaction has changed a revision. It also calls onChange each time it starts listening,
// because changes may have been missed. It returns when ctx is done. SQLite has no notifications, so there it returns immediately.
func (db *DB) Listen(ctx context.Context, onChange func()) {
	if db.dialect != Postgres {
		return
	}
	for ctx.Err() == nil {
		_ = db.follow(ctx, onChange) // the error is ignored because callers also poll
		select {
		case <-ctx.Done():
		case <-time.After(listenPause):
		}
	}
}

// follow listens until the connection breaks.
func (db *DB) follow(ctx context.Context, onChange func()) error {
	opening, cancel := context.WithTimeout(ctx, listenTime)
	defer cancel()
	conn, err := pgx.ConnectConfig(opening, db.connConfig.Copy())
	if err != nil {
		return fmt.Errorf("listen for changes: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenTime)
		defer cancel()
		_ = conn.Close(closing) // the connection may be broken
	}()
	if _, err := conn.Exec(opening, "listen "+channel); err != nil {
		return fmt.Errorf("listen for changes: %w", err)
	}
	onChange()
	for {
		if err := awaitChange(ctx, conn); err != nil {
			return err
		}
		onChange()
	}
}

// awaitChange returns nil when a notification has arrived. It checks an idle connection, because a broken connection may go
// unnoticed.
func awaitChange(ctx context.Context, conn *pgx.Conn) error {
	for {
		waiting, cancel := context.WithTimeout(ctx, listenPing)
		_, err := conn.WaitForNotification(waiting)
		silent := waiting.Err() != nil && ctx.Err() == nil
		cancel()
		if err == nil || !silent {
			return err
		}
		checking, cancel := context.WithTimeout(ctx, listenTime)
		err = conn.Ping(checking)
		cancel()
		if err != nil {
			return err
		}
	}
}
