package spool

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// FS is the directory that a spool keeps its files in.
type FS interface {
	// OpenFile opens a file for reading and writing. flag may contain os.O_CREATE and os.O_EXCL.
	OpenFile(name string, flag int) (File, error)
	// Names returns the names of the files.
	Names() ([]string, error)
	// Remove deletes a file.
	Remove(name string) error
	// SyncDir makes the names of created files durable.
	SyncDir() error
}

// File contains the operations that a spool performs on a file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Sync() error
	Truncate(size int64) error
}

var errClosed = errors.New("the spool is closed")

// directory implements FS on the local file system.
type directory string

func (d directory) OpenFile(name string, flag int) (File, error) {
	f, err := os.OpenFile(filepath.Join(string(d), name), os.O_RDWR|flag, 0o600)
	if err != nil {
		return nil, err
	}
	return file{f}, nil
}

func (d directory) Names() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

func (d directory) Remove(name string) error { return os.Remove(filepath.Join(string(d), name)) }

func (d directory) SyncDir() error {
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

type file struct{ *os.File }

func (f file) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
