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
	"strconv"

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
	path     string
	old, new []byte
	existed  bool
	mode     fs.FileMode
}

// plan reads the files and computes their new content. It writes nothing.
func plan(files []file, key string) ([]change, error) {
	changes := make([]change, 0, len(files))
	for _, f := range files {
		path := f.path
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target // settings are often links into a repository
		}
		c := change{path: path, mode: 0o644}
		old, err := os.ReadFile(path)
		switch {
		case err == nil:
			info, err := os.Stat(path)
			if err != nil {
				return nil, err
			}
			c.old, c.existed, c.mode = old, true, info.Mode().Perm()
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		if c.new, err = f.merge(c.old); err != nil {
			return nil, cli.WithFix(fmt.Errorf("%s: %w", path, err), "correct the file or move it away, and run the command again")
		}
		if bytes.Contains(c.new, []byte(key)) {
			c.mode &= 0o700
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// apply writes the files after saving backups and the record. previous is the record of an earlier connection of the same agent, whose
// backups remain, because they are from before the first connection.
func apply(at string, r *record, previous *record, changes []change) error {
	backups := at[:len(at)-len(".json")] + ".backup"
	earlier := map[string]fileRecord{}
	if previous != nil {
		for _, f := range previous.Files {
			earlier[f.Path] = f
		}
	}
	if err := os.MkdirAll(backups, 0o700); err != nil {
		return err
	}
	for i, c := range changes {
		f, known := earlier[c.path]
		if !known {
			f = fileRecord{Path: c.path, Dirs: missingDirs(filepath.Dir(c.path))}
			if c.existed {
				f.Backup, f.Mode = filepath.Join(backups, strconv.Itoa(i)), fileMode(c.path)
				if err := writeFile(f.Backup, c.old, 0o600); err != nil {
					return err
				}
			}
		}
		f.Written = digest(c.new)
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
	if err := writeFile(at, append(text, '\n'), 0o600); err != nil {
		return err
	}
	for _, c := range changes {
		if err := os.MkdirAll(filepath.Dir(c.path), 0o755); err != nil {
			return err
		}
		if err := writeFile(c.path, c.new, c.mode); err != nil {
			return err
		}
	}
	return nil
}

func fileMode(path string) fs.FileMode {
	info, err := os.Stat(path)
	if err != nil {
		return 0o600
	}
	return info.Mode().Perm()
}

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

// writeFile replaces a file in one step.
func writeFile(path string, text []byte, mode fs.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".fairlead-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(text)
	err = errors.Join(err, temporary.Chmod(mode), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(temporary.Name()))
	}
	return nil
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
	return kept, errors.Join(os.RemoveAll(at[:len(at)-len(".json")]+".backup"), os.Remove(at))
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
