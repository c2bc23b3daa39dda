// Package file reads and watches configuration files.
package file

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ErrTooLarge is returned by Read for a file that exceeds the limit.
var ErrTooLarge = errors.New("too large")

// Read reads a file of at most limit bytes. It returns ErrTooLarge for a larger file.
func Read(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, ErrTooLarge
	}
	return content, nil
}

// Describe returns a message that explains why a file cannot be read. The message is the same on all systems.
func Describe(path string, err error) string {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Sprintf("the file %s does not exist", path)
	case errors.Is(err, os.ErrPermission):
		return fmt.Sprintf("permission denied for file %s", path)
	case errors.Is(err, ErrTooLarge):
		return fmt.Sprintf("the file %s is too large", path)
	}
	if pathError, ok := errors.AsType[*os.PathError](err); ok {
		err = pathError.Err
	}
	return fmt.Sprintf("the file %s cannot be read: %v", path, err)
}

// Replace replaces a file atomically. The file is complete even after a power failure.
func Replace(path string, text []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // CreateTemp sets mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
