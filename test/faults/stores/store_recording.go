package stores

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// action is the effect of a system call on a file.
type action int

const (
	created action = iota
	written
	truncated
	synced
	removed
)

// call is one system call on a file of the data directory.
type call struct {
	action       action
	path         string // relative to the data directory; "." and "spool" are directories
	data         []byte
	at           int64 // offset, or size
	began, ended time.Time
}

// recording is the sequence of a gateway's file operations.
type recording struct {
	calls         []call
	writes, syncs int
}

var (
	callLine = regexp.MustCompile(`^(\d+\.\d+) (\w+)\((.*)\) = (\d+)(?:<.*>)? <(\d+\.\d+)>$`)
	onFile   = regexp.MustCompile(`^\d+<([^>]*)>(?:, "([^"]*)")?((?:, \d+)*)$`)
	named    = regexp.MustCompile(`^(?:[^"]*)"([^"]*)"(.*)$`)
)

// readRecording reads the files that strace wrote, one per thread.
func readRecording(t *testing.T, prefix, dir string) *recording {
	t.Helper()
	files, err := filepath.Glob(prefix + ".*")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files of strace (%v), want at least 1", len(files), err)
	}
	rec := &recording{}
	for _, file := range files {
		rec.read(t, file, dir)
	}
	slices.SortFunc(rec.calls, func(a, b call) int { return cmp.Or(a.began.Compare(b.began), a.ended.Compare(b.ended)) })
	for _, c := range rec.calls {
		switch c.action {
		case written:
			rec.writes++
		case synced:
			rec.syncs++
		case created, truncated, removed:
		}
	}
	if rec.writes == 0 || rec.syncs == 0 {
		t.Fatalf("the recording has %d writes and %d syncs, want at least 1 of each", rec.writes, rec.syncs)
	}
	return rec
}

func (rec *recording) read(t *testing.T, file, dir string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<28)
	for lines.Scan() {
		match := callLine.FindStringSubmatch(lines.Text())
		if match == nil {
			continue // a signal, the end of a thread, or a call that failed
		}
		c, ok := parseCall(t, match[2], match[3], dir)
		if !ok {
			continue
		}
		seconds, took := match[1], match[5]
		c.began = moment(t, seconds)
		c.ended = c.began.Add(time.Duration(moment(t, took).UnixNano()))
		rec.calls = append(rec.calls, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// moment parses a time in seconds with six decimals.
func moment(t *testing.T, text string) time.Time {
	t.Helper()
	whole, micros, _ := strings.Cut(text, ".")
	s, errS := strconv.ParseInt(whole, 10, 64)
	us, errU := strconv.ParseInt(micros, 10, 64)
	if errS != nil || errU != nil {
		t.Fatalf("%q is not a time", text)
	}
	return time.Unix(s, us*1000)
}

// parseCall parses one system call. It returns false for files outside the data directory and files that a start
// rebuilds.
func parseCall(t *testing.T, name, args, dir string) (call, bool) {
	t.Helper()
	var path, data string
	var numbers []string
	if match := onFile.FindStringSubmatch(args); match != nil {
		path, data = unhex(t, match[1]), match[2]
		numbers = strings.Split(strings.TrimPrefix(match[3], ", "), ", ")
	} else if match := named.FindStringSubmatch(args); match != nil {
		path = unhex(t, match[1])
		if name == "openat" && !strings.Contains(match[2], "O_CREAT") {
			return call{}, false
		}
	}
	inside, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(inside) && inside != "." || strings.HasSuffix(inside, "-shm") || strings.HasSuffix(inside, "(deleted)") {
		return call{}, false
	}
	c := call{path: inside}
	switch name {
	case "openat":
		c.action = created
	case "pwrite64":
		c.action, c.data, c.at = written, []byte(unhex(t, data)), number(t, numbers[1])
	case "ftruncate":
		c.action, c.at = truncated, number(t, numbers[0])
	case "fsync", "fdatasync":
		c.action = synced
	case "unlink", "unlinkat":
		c.action = removed
	default:
		t.Errorf("the system call %s on %s is not supported by this case", name, inside)
	}
	return c, true
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%q is not a number", text)
	}
	return n
}

func unhex(t *testing.T, text string) string {
	t.Helper()
	data, err := hex.DecodeString(strings.ReplaceAll(text, `\x`, ""))
	if err != nil {
		return text // a word such as AT_FDCWD
	}
	return string(data)
}

// cut creates the files in the state after a power cut at the given time.
func (rec *recording) cut(t *testing.T, base, dir string, at time.Time, draw *rand.Rand) {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(base)); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(filepath.Join(dir, "fairlead.db-shm")) // shared memory is lost in a power cut
	files := map[string]*os.File{}
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	gone := map[string]bool{}
	for i, c := range rec.calls {
		if !c.began.Before(at) {
			break
		}
		certain := rec.synced(i, at)
		fate := draw.IntN(3)
		path := filepath.Join(dir, c.path)
		switch {
		case c.action == synced, !certain && fate == 0:
			continue
		case c.action == removed:
			if f := files[c.path]; f != nil {
				_ = f.Close()
				delete(files, c.path)
			}
			_ = os.Remove(path) // the file may never have existed
			gone[c.path] = true
			continue
		case gone[c.path] && c.action != created:
			continue // the file that was written was removed
		}
		delete(gone, c.path)
		f := files[c.path]
		if f == nil {
			var err error
			if f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
				t.Fatal(err)
			}
			files[c.path] = f
		}
		if err := c.apply(f, certain || fate == 1, draw); err != nil {
			t.Fatal(err)
		}
	}
}

// apply repeats the call on a file. If whole is false, it writes only a random part of the data.
func (c call) apply(f *os.File, whole bool, draw *rand.Rand) error {
	switch c.action {
	case written:
		data := c.data
		if !whole {
			data = data[:draw.IntN(len(data)+1)]
		}
		_, err := f.WriteAt(data, c.at)
		return err
	case truncated:
		return f.Truncate(c.at)
	case created, synced, removed:
	}
	return nil
}

// synced reports whether a call was durable at the given time: a sync of its file began after the call ended, and ended
// before that time. A name is durable after a sync of its file or its directory.
func (rec *recording) synced(i int, at time.Time) bool {
	c := rec.calls[i]
	if c.ended.After(at) {
		return false
	}
	names := c.action == created || c.action == removed
	for _, later := range rec.calls[i+1:] {
		if !later.began.Before(at) {
			break
		}
		covers := later.path == c.path && c.action != removed || names && later.path == filepath.Dir(c.path)
		if later.action == synced && covers && !later.began.Before(c.ended) && !later.ended.After(at) {
			return true
		}
	}
	return false
}
