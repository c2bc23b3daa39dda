package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead/internal/id"
	"fairlead/internal/requestlog"
)

func openFile(t *testing.T, dir string) *DB {
	t.Helper()
	db, err := Open(t.Context(), "sqlite", dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func textEntry(preview string) requestlog.Entry {
	now := time.Now()
	return requestlog.Entry{ID: id.New("req", now), WorkspaceID: "ws", Time: now, Preview: preview}
}

func TestTwoProcessesWriteToOneFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a directory?with%20 odd#name")
	server, command := openFile(t, dir), openFile(t, dir)
	var wg sync.WaitGroup
	failures := make(chan error, 400)
	for _, db := range []*DB{server, command} {
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

func TestExpiredTextIsGoneFromTheFiles(t *testing.T) {
	t.Parallel()
	const canary = "canary-that-nobody-may-find"
	dir := t.TempDir()
	db := openFile(t, dir)
	big := textEntry(canary)
	big.BodyState, big.Body = requestlog.BodyStored, requestlog.Body{Request: []byte(canary), Response: bytes.Repeat([]byte("large"), 1<<20)}
	if err := db.WriteEntries(t.Context(), []requestlog.Entry{big, textEntry(canary)}); err != nil {
		t.Fatal(err)
	}
	if found := findInFiles(t, dir, canary); len(found) == 0 {
		t.Fatal("the text is not in the files to begin with")
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
		t.Errorf("usage was %+v and is %+v, %v", before, after, err)
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

func TestWriteAheadFileIsBounded(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	db := openFile(t, t.TempDir())
	db.walLimit, db.timeout = limit, 20*time.Millisecond
	db.walNext.Store(limit)
	walSize := func() int64 {
		t.Helper()
		info, err := os.Stat(db.path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	write := func() {
		t.Helper()
		e := textEntry(strings.Repeat("x", 2*limit))
		if err := db.WriteEntries(t.Context(), []requestlog.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}

	// A reader that stays in its transaction keeps every checkpoint from emptying the file, but stops no writer.
	reader, err := db.read.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reader.QueryRowContext(t.Context(), `select count(*) from requests`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	write()
	if walSize() < limit {
		t.Fatal("the file is not large while somebody reads: this test shows nothing")
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}

	write()

	if size := walSize(); size > limit {
		t.Errorf("write-ahead file has %d bytes, want at most %d", size, limit)
	}
}

func TestDatabaseIsPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	openFile(t, dir)
	for name, want := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, filepath.Join(dir, "fairlead.db"): 0o600, filepath.Join(dir, "fairlead.db-wal"): 0o600} {
		info, err := os.Stat(name)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
}

func TestOneServerPerDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	release, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}

	_, second := Lock(dir)
	if !errors.Is(second, ErrLocked) {
		t.Errorf("second server: %v, want ErrLocked", second)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	again, err := Lock(dir)
	if err != nil {
		t.Fatalf("after the first server ended: %v", err)
	}
	if err := again(); err != nil {
		t.Error(err)
	}
}

func TestOpenNamesWhatItCannotOpen(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"mysql://user:secret@host/db", "postgres://user:secret@host:port/db"} {
		_, err := Open(t.Context(), dsn, t.TempDir(), Options{})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v: want an error without the password", err)
		}
	}
}

func TestPackingKeepsBytes(t *testing.T) {
	t.Parallel()
	p := NewCodec()
	for _, want := range [][]byte{nil, {}, {0}, []byte("short"), bytes.Repeat([]byte("long"), 5000)} {
		got, err := p.Unpack(p.Pack(want))
		if err != nil || !bytes.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%d bytes became %d, %v", len(want), len(got), err)
		}
	}
}
