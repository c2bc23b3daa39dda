package connect

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fairlead.dev/internal/cli"
)

// record describes a connection, so that it can be undone.
type record struct {
	Agent   string       `json:"agent"`
	Gateway string       `json:"gateway"`
	Remote  bool         `json:"remote,omitempty"` // whether the key belongs to the gateway at another address
	KeyID   string       `json:"key_id,omitempty"` // ID of the created key; empty for a key of the user
	Project string       `json:"project,omitempty"`
	Files   []fileRecord `json:"files"`
}

// fileRecord describes the state of a file before and after connecting.
type fileRecord struct {
	Path    string      `json:"path"`
	Backup  string      `json:"backup,omitempty"` // copy of the file before; empty if it did not exist
	Mode    fs.FileMode `json:"mode,omitempty"`
	Written string      `json:"written"` // SHA-256 of what was written
	Dirs    []string    `json:"dirs,omitempty"`
}

// recordPath returns the path of the record of an agent.
func recordPath(dir, agent, project string) string {
	name := agent
	if project != "" {
		sum := sha256.Sum256([]byte(project))
		name += "-" + hex.EncodeToString(sum[:4])
	}
	return filepath.Join(dir, name+".json")
}

// readRecord returns nil if the agent is not connected.
func readRecord(path string) (*record, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := new(record)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return r, nil
}

// change is a file with its old and new content.
type change struct {
	path      string
	old, new  []byte
	existed   bool
	mode, was fs.FileMode
}

// plan reads the files and computes their new content. It writes nothing.
func plan(files []file, key string) ([]change, error) {
	changes := make([]change, 0, len(files))
	for _, f := range files {
		c, err := f.plan()
		if err != nil {
			return nil, cli.WithFix(fmt.Errorf("%s: %w", f.path, err), "correct the file or move it away, and run the command again")
		}
		if bytes.Contains(c.new, []byte(key)) {
			c.mode &= 0o700
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// plan reads a file and computes its new content. Added lines get the line breaks of the file.
func (f file) plan() (change, error) {
	c := change{path: f.path, mode: 0o644}
	if _, err := os.Lstat(f.path); err == nil {
		if c.path, err = filepath.EvalSymlinks(f.path); err != nil { // settings are often links into a repository
			return c, err
		}
		info, err := os.Stat(c.path)
		if err != nil {
			return c, err
		}
		c.existed, c.was, c.mode = true, info.Mode().Perm(), info.Mode().Perm()
		if c.mode&0o200 == 0 {
			return c, errors.New("the file is read-only")
		}
		if c.old, err = os.ReadFile(c.path); err != nil {
			return c, err
		}
	}
	lf, crlf := []byte("\n"), []byte("\r\n")
	text, err := f.merge(bytes.ReplaceAll(c.old, crlf, lf))
	if bytes.Contains(c.old, crlf) {
		text = bytes.ReplaceAll(text, lf, crlf)
	}
	c.new = text
	return c, err
}

// apply writes the files after saving backups and the record. previous is the record of an earlier connection of the same agent, whose
// backups remain, because they are from before the first connection. If a file cannot be written, apply changes none.
func apply(at string, r *record, previous *record, changes []change) (err error) {
	var writes []*pendingWrite
	var dirs []string
	stage := func(path string, text []byte, mode fs.FileMode) error {
		dirs = append(dirs, missingDirs(filepath.Dir(path))...)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		w, err := stageFile(path, text, mode)
		if err == nil {
			writes = append(writes, w)
		}
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		for _, w := range writes {
			_ = os.Remove(w.temporary) // fails if it has replaced the file
		}
		for _, dir := range slices.Backward(dirs) {
			_ = os.Remove(dir)
		}
	}()
	earlier := map[string]fileRecord{}
	if previous != nil {
		for _, f := range previous.Files {
			earlier[f.Path] = f
		}
	}
	backups := backupDir(at)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	for _, c := range changes {
		f, known := earlier[c.path]
		if !known {
			f = fileRecord{Path: c.path, Dirs: missingDirs(filepath.Dir(c.path))}
			if c.existed {
				f.Backup, f.Mode = filepath.Join(backups, digest([]byte(c.path))[:16]), c.was
				if err := stage(f.Backup, c.old, 0o600); err != nil {
					return err
				}
			}
		}
		if !known || f.Written == digest(c.old) { // a file that was edited since stays recorded as edited, so that undoing keeps a copy
			f.Written = digest(c.new)
		}
		delete(earlier, c.path)
		r.Files = append(r.Files, f)
	}
	for _, f := range earlier {
		r.Files = append(r.Files, f)
	}
	text, err := json.MarshalIndent(r, "", indentation)
	if err != nil {
		return err
	}
	if err := stage(at, append(text, '\n'), 0o600); err != nil {
		return err
	}
	for _, c := range changes {
		if err := stage(c.path, c.new, c.mode); err != nil {
			return err
		}
	}
	for _, w := range writes {
		if err := w.commit(); err != nil {
			return err
		}
	}
	return nil
}

func backupDir(at string) string { return strings.TrimSuffix(at, ".json") + ".backup" }

// missingDirs returns the directories that have to be created for dir, the outermost first.
func missingDirs(dir string) []string {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	return append(missingDirs(filepath.Dir(dir)), dir)
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// pendingWrite is the new content of a file under a temporary name in the same directory.
type pendingWrite struct{ temporary, path string }

// stageFile writes the new content of a file under a temporary name.
func stageFile(path string, text []byte, mode fs.FileMode) (*pendingWrite, error) {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".fairlead-*")
	if err != nil {
		return nil, err
	}
	_, err = temporary.Write(text)
	if err = errors.Join(err, temporary.Chmod(mode), temporary.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(temporary.Name()))
	}
	return &pendingWrite{temporary.Name(), path}, nil
}

func (w *pendingWrite) commit() error { return os.Rename(w.temporary, w.path) }

// writeFile replaces a file in one step.
func writeFile(path string, text []byte, mode fs.FileMode) error {
	w, err := stageFile(path, text, mode)
	if err != nil {
		return err
	}
	return w.commit()
}

// restore undoes a connection: every file gets its content from before. A file that has changed since is kept beside it. It returns the
// paths of these copies.
func restore(at string, r *record) (kept []string, err error) {
	for _, f := range r.Files {
		current, err := os.ReadFile(f.Path)
		if err == nil && digest(current) != f.Written {
			copied := f.Path + ".fairlead-changed"
			if err := writeFile(copied, current, 0o600); err != nil {
				return kept, err
			}
			kept = append(kept, copied)
		}
		if f.Backup == "" {
			if err := os.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return kept, err
			}
			for i := len(f.Dirs) - 1; i >= 0; i-- {
				_ = os.Remove(f.Dirs[i]) // fails if the agent has put other files there
			}
			continue
		}
		before, err := os.ReadFile(f.Backup)
		if err != nil {
			return kept, err
		}
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
			return kept, err
		}
		if err := writeFile(f.Path, before, f.Mode); err != nil {
			return kept, err
		}
	}
	return kept, errors.Join(os.RemoveAll(backupDir(at)), os.Remove(at))
}

// firstExisting returns the first path that exists, or the last one.
func firstExisting(paths ...string) string {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return paths[len(paths)-1]
}
