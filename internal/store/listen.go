package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// channel is where PostgreSQL tells that keys, workspaces or settings have changed, with the change itself.
const channel = "fairlead_changes"

const (
	listenPause = 500 * time.Millisecond // before a broken connection is tried again
	listenPing  = 30 * time.Second       // of silence, after which the connection is checked
	listenTime  = 5 * time.Second        // what opening or checking it may take
)

// Listen calls hear whenever another process has changed something, and each time that it begins to listen, because
// something may have been missed. It goes on until ctx ends. SQLite tells nobody: it returns at once.
func (db *DB) Listen(ctx context.Context, hear func()) {
	if db.dialect != Postgres {
		return
	}
	for ctx.Err() == nil {
		_ = db.follow(ctx, hear) // changes are also looked for from time to time
		select {
		case <-ctx.Done():
		case <-time.After(listenPause):
		}
	}
}

// follow listens until the connection breaks.
func (db *DB) follow(ctx context.Context, hear func()) error {
	opening, cancel := context.WithTimeout(ctx, listenTime)
	defer cancel()
	conn, err := pgx.ConnectConfig(opening, db.connection.Copy())
	if err != nil {
		return fmt.Errorf("listen for changes: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenTime)
		defer cancel()
		_ = conn.Close(closing) // it may be broken
	}()
	if _, err := conn.Exec(opening, "listen "+channel); err != nil {
		return fmt.Errorf("listen for changes: %w", err)
	}
	hear()
	for {
		if err := awaitChange(ctx, conn); err != nil {
			return err
		}
		hear()
	}
}

// awaitChange returns nil when something has changed. A connection that is long silent is checked: its end may not be heard.
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
