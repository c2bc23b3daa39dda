package stores

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// migrationKilled is fault case F60: if a gateway is killed during its first start, the next start completes the schema. If three gateways
// start together, one of them migrates. A database of a newer version is rejected.
func migrationKilled(t *testing.T, size scenario.Size) string {
	d := newDatabase(t)
	d.Start(t)
	kills := killSQLite(t, size.Of(3, 25))

	config := d.configOf(t, freshDatabase(t, d, "three"))
	var all sync.WaitGroup
	for range 3 {
		g := harness.Start(t, harness.Options{Config: config, Early: true})
		all.Go(func() {
			within(t, 30*time.Second, "all three replicas are ready", func() bool { return readiness(t, g) == http.StatusOK })
		})
	}
	all.Wait()

	if _, err := d.openNamed(t, "three").ExecContext(t.Context(), `insert into migrations (number, name, applied_at) values (9999, 'future', 0)`); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := harness.CLI(t, harness.Options{Config: config}, "serve", "--listen", "127.0.0.1:0")
	if code == 0 || !strings.Contains(stderr, "newer version") {
		t.Errorf("serve with a newer database: exit code %d, want an error about the newer version: %s", code, stderr)
	}
	return fmt.Sprintf("%d kills during the first start, all completed; three concurrent starts ready; newer schema rejected with exit %d", kills, code)
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
