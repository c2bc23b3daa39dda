package stores

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// migrationKilled is fault case F60: if a gateway is killed at any statement of its migrations, the next start completes them. If
// three gateways start together, one of them migrates. A database of a newer version is rejected.
func migrationKilled(t *testing.T, size scenario.Size) string {
	d := newDatabase(t)
	d.Start(t)
	whole := freshDatabase(t, d, "whole")
	harness.Start(t, harness.Options{Config: d.configOf(t, whole)}).Stop(t)
	kills := killAtStatements(t, d, migrations(t, d.openNamed(t, whole)), size.Of(12, 1))
	lite := killSQLite(t, size.Of(3, 25))

	applied := migrations(t, d.open(t))
	config := d.configOf(t, freshDatabase(t, d, "three"))
	var all sync.WaitGroup
	for range 3 {
		g := harness.Start(t, harness.Options{Config: config, Early: true})
		all.Go(func() {
			within(t, 30*time.Second, "all three replicas are ready", func() bool { return readiness(t, g) == http.StatusOK })
		})
	}
	all.Wait()

	if _, err := d.open(t).ExecContext(t.Context(), `insert into migrations (number, name, applied_at) values (9999, 'future', 0)`); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := harness.CLI(t, harness.Options{Config: d.config(t, 1)}, "serve", "--listen", "127.0.0.1:0")
	if code == 0 || !strings.Contains(stderr, "newer version") {
		t.Errorf("serve with a newer database: exit code %d, want an error about the newer version: %s", code, stderr)
	}
	return fmt.Sprintf("%d kills at statements of %d migrations and %d of SQLite's, all completed; three concurrent starts ready; newer schema rejected with exit %d", kills, applied, lite, code)
}

// killAtStatements starts gateways on one database, one after the other, and kills each of them a few statements later than the
// previous one. When another migration is complete, the next kill is again at one of the first statements. The function ends when all
// migrations are applied, and returns the number of kills.
func killAtStatements(t *testing.T, d *database, all, stride int) int {
	t.Helper()
	const preamble = 6 // statements that a start runs before its first migration
	kills, done, db := 0, -1, d.open(t)
	for at := 1; ; at += stride {
		now := migrations(t, db)
		if now == all {
			break
		}
		if now > done {
			done, at = now, min(at, preamble)
		}
		counter := countStatements(t, d.Address(), int64(at))
		config := strings.Replace(d.config(t, 1), d.proxy.Listen, counter.address, 1)
		if !runUntilKilled(t, config, "", counter.reached) {
			break // the gateway was ready before that statement
		}
		kills++
	}
	g := harness.Start(t, harness.Options{Config: d.config(t, 1)})
	if a := g.Call(t, harness.Request{Key: g.Key(t), Body: scenario.Chat("plain")}); a.Status != http.StatusOK {
		t.Errorf("request after all kills: status %d, want 200: %s", a.Status, scenario.Clip(a.Body))
	}
	g.Stop(t)
	return kills
}

// migrations returns the number of recorded migrations; 0 if the table does not exist.
func migrations(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), `select count(*) from migrations`).Scan(&n); err != nil {
		return 0
	}
	return n
}

// freshDatabase creates another database on the server and returns its name.
func freshDatabase(t *testing.T, d *database, name string) string {
	t.Helper()
	if _, err := d.open(t).ExecContext(t.Context(), `create database `+name); err != nil {
		t.Fatal(err)
	}
	return name
}

// configOf returns a configuration with another database of the server.
func (d *database) configOf(t *testing.T, name string) string {
	t.Helper()
	return strings.Replace(d.config(t, 1), "/postgres?", "/"+name+"?", 1)
}

// killSQLite kills gateways at different moments of their first start, and starts them again.
func killSQLite(t *testing.T, n int) int {
	t.Helper()
	url := harness.Serve(t, scenario.Paced(1))
	config := harness.Config(t, []harness.Provider{{Name: "alpha", BaseURL: url + "/v1", Models: []harness.Model{harness.Chat("plain", 0.4, 1.6, 0.5)}}})
	for i := range n {
		dir := t.TempDir()
		moment := make(chan struct{})
		time.AfterFunc(time.Duration(10+400*i/n)*time.Millisecond, func() { close(moment) })
		runUntilKilled(t, config, dir, moment)
		g := harness.Start(t, harness.Options{Config: config, DataDir: dir})
		if a := g.Call(t, harness.Request{Key: g.Key(t), Body: scenario.Chat("plain")}); a.Status != http.StatusOK {
			t.Errorf("request after a kill with SQLite: status %d, want 200: %s", a.Status, scenario.Clip(a.Body))
		}
		g.Kill(t)
	}
	return n
}

// runUntilKilled starts a gateway and kills it when moment is closed. It returns false if the gateway was ready before.
func runUntilKilled(t *testing.T, config, dir string, moment <-chan struct{}) bool {
	t.Helper()
	g := harness.Start(t, harness.Options{Config: config, DataDir: dir, Early: true})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		select {
		case <-moment:
			g.Kill(t)
		case <-ctx.Done():
		}
	}()
	for {
		select {
		case <-killed:
			return true
		default:
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.URL()+"/readyz", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				cancel()
				<-killed
				select {
				case <-moment:
					return true
				default:
				}
				g.Kill(t)
				return false
			}
		}
		time.Sleep(5 * time.Millisecond) // another process cannot be watched with a fake clock
	}
}

// counter is a proxy to PostgreSQL that counts statements and holds a given one.
type counter struct {
	address string
	reached chan struct{}
	seen    atomic.Int64
	at      int64
}

// countStatements starts a proxy that holds the statement with the given number.
func countStatements(t *testing.T, target string, at int64) *counter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	c := &counter{address: listener.Addr().String(), reached: make(chan struct{}), at: at}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				_ = near.Close()
				continue
			}
			go func() { _, _ = io.Copy(near, far); _ = near.Close() }()
			go func() { _ = c.forward(far, near); _ = far.Close() }()
		}
	}()
	return c
}

// forward forwards messages. The first message has no type; statements are Query or Parse messages.
func (c *counter) forward(to io.Writer, from io.Reader) error {
	for first := true; ; first = false {
		head := make([]byte, 5)
		if first {
			head = head[:4]
		}
		if _, err := io.ReadFull(from, head); err != nil {
			return err
		}
		if head[0] == 'Q' || head[0] == 'P' {
			if !first && c.seen.Add(1) == c.at {
				close(c.reached)
				_, err := io.Copy(io.Discard, from) // block until the gateway is killed
				return err
			}
		}
		rest := make([]byte, binary.BigEndian.Uint32(head[len(head)-4:])-4)
		if _, err := io.ReadFull(from, rest); err != nil {
			return err
		}
		if _, err := to.Write(append(head, rest...)); err != nil {
			return err
		}
	}
}
