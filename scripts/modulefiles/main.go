// Command modulefiles writes the Go module of a release into the release folder, as the files that a module proxy serves. Unlike the
// repository, the module contains the built dashboard, so that `go install` builds a complete gateway.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// dashboard is the folder of the built dashboard.
const dashboard = "web/stub/dist"

func main() {
	release := flag.String("release", "bin/release", "the folder of the release")
	flag.Parse()
	if err := run(context.Background(), *release); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run reads the version of a release from its metadata and writes the module files into its subfolder goproxy. The working directory
// must be the root of the source.
func run(ctx context.Context, release string) error {
	data, err := os.ReadFile(filepath.Join(release, "metadata.json"))
	if err != nil {
		return err
	}
	var metadata struct{ Version string }
	if err := json.Unmarshal(data, &metadata); err != nil {
		return fmt.Errorf("metadata.json: %w", err)
	}
	seconds, err := git(ctx, "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	unix, err := strconv.ParseInt(strings.TrimSpace(seconds), 10, 64)
	if err != nil {
		return fmt.Errorf("parse the commit time: %w", err)
	}
	files, err := sourceFiles(ctx)
	if err != nil {
		return err
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		return err
	}
	m := module.Version{Path: modfile.ModulePath(mod), Version: "v" + metadata.Version}
	return writeModule(filepath.Join(release, "goproxy"), m, mod, time.Unix(unix, 0).UTC(), files)
}

// sourceFiles lists the files of the repository and of the built dashboard. Package zip skips the files of nested modules.
func sourceFiles(ctx context.Context) ([]zip.File, error) {
	tracked, err := git(ctx, "ls-files", "-z")
	if err != nil {
		return nil, err
	}
	paths := strings.Split(strings.TrimRight(tracked, "\x00"), "\x00")
	err = filepath.WalkDir(dashboard, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			paths = append(paths, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the dashboard is not built: %w", err)
	}
	slices.Sort(paths)
	files := make([]zip.File, 0, len(paths))
	for _, path := range paths {
		files = append(files, file(path))
	}
	return files, nil
}

// writeModule writes the files that the module proxy protocol requires: the list of versions and, for the version m, the .info, .mod and
// .zip files.
func writeModule(out string, m module.Version, mod []byte, committed time.Time, files []zip.File) error {
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	dir := filepath.Join(out, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{m.Version, committed})
	if err != nil {
		return err
	}
	archive, err := os.Create(filepath.Join(dir, m.Version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(
		zip.Create(archive, m, files),
		archive.Close(),
		os.WriteFile(filepath.Join(dir, m.Version+".mod"), mod, 0o644),
		os.WriteFile(filepath.Join(dir, m.Version+".info"), info, 0o644),
		os.WriteFile(filepath.Join(dir, "list"), []byte(m.Version+"\n"), 0o644),
	)
}

// file is the path of a module file, relative to the root of the repository.
type file string

func (f file) Path() string                 { return string(f) }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(filepath.FromSlash(string(f))) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(filepath.FromSlash(string(f))) }

func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(out), nil
}
