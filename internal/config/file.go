package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ErrFileTooLarge is returned by ReadFile for a file that exceeds the limit.
var ErrFileTooLarge = errors.New("too large")

// ReadFile reads a file of at most limit bytes. It returns ErrFileTooLarge for a larger file.
func ReadFile(path string, limit int64) ([]byte, error) {
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
		return nil, ErrFileTooLarge
	}
	return content, nil
}

// DescribeFileError returns a message that explains why a file cannot be read. The message is the same on all systems.
func DescribeFileError(path string, err error) string {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Sprintf("the file %s does not exist", path)
	case errors.Is(err, os.ErrPermission):
		return fmt.Sprintf("permission denied for file %s", path)
	case errors.Is(err, ErrFileTooLarge):
		return fmt.Sprintf("the file %s is too large", path)
	}
	if pathError, ok := errors.AsType[*os.PathError](err); ok {
		err = pathError.Err
	}
	return fmt.Sprintf("the file %s cannot be read: %v", path, err)
}

// ReplaceFile replaces a file atomically. The file is complete even after a power failure.
func ReplaceFile(path string, text []byte) (err error) {
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
