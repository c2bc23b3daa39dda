package logstore

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"fairlead.dev/internal/requestlog"
)

func TestTwoProcessesWriteToOneFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a directory?with%20 odd#name")
	server, command := openFile(t, dir), openFile(t, dir)
	var wg sync.WaitGroup
	failures := make(chan error, 400)
	for _, db := range []*testDB{server, command} {
		for range 4 {
			wg.Go(func() {
				for range 25 {
					failures <- db.WriteEntries(context.Background(), []requestlog.Entry{textEntry("x")})
					_, err := db.Count(context.Background(), requestlog.Filter{WorkspaceID: "ws"}, 1000)
					failures <- err
				}
			})
		}
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n, err := command.Count(t.Context(), requestlog.Filter{WorkspaceID: "ws"}, 1000); err != nil || n != 200 {
		t.Errorf("%d entries, %v; want 200", n, err)
	}
}

func TestExpiredTextIsRemovedFromTheFiles(t *testing.T) {
	t.Parallel()
	const canary = "canary-text"
	dir := t.TempDir()
	db := openFile(t, dir)
	big := textEntry(canary)
	big.BodyState, big.Body = requestlog.BodyStored, requestlog.Body{Request: []byte(canary), Response: bytes.Repeat([]byte("large"), 1<<20)}
	if err := db.WriteEntries(t.Context(), []requestlog.Entry{big, textEntry(canary)}); err != nil {
		t.Fatal(err)
	}
	if found := findInFiles(t, dir, canary); len(found) == 0 {
		t.Fatal("the text is not in the files before the expiry")
	}
	before, err := db.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	if _, err := db.Expire(t.Context(), time.Now().Add(time.Hour), Retention{Bodies: time.Minute}); err != nil {
		t.Fatal(err)
	}

	if found := findInFiles(t, dir, canary); len(found) > 0 {
		t.Errorf("expired text is still in %v", found)
	}
	if after, err := db.Usage(t.Context()); err != nil || after.Bytes >= before.Bytes || after.Bodies != 0 {
		t.Errorf("usage changed from %+v to %+v, %v; want fewer bytes and no bodies", before, after, err)
	}
}

func findInFiles(t *testing.T, dir, text string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte(text)) {
			found = append(found, name)
		}
	}
	return found
}
