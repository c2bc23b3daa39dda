package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ReadFile reads a file, or standard input if path is a dash. It returns an error if the content is larger than limit bytes.
func (c *Console) ReadFile(path string, limit int64) ([]byte, error) {
	in := c.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, WithFix(err, "use an existing file, or - for standard input")
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%s is larger than %s bytes", Clean(path), Count(limit))
	}
	return text, nil
}

// CreateConfig writes a new configuration file. The file is readable only by its owner, because users may add secrets to it. If the file
// exists, it is not changed, and the error has the given fix.
func CreateConfig(path, text, fix string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return WithFix(fmt.Errorf("%s already exists and was not changed", path), "%s", fix)
	case errors.Is(err, fs.ErrNotExist):
		return WithFix(fmt.Errorf("write %s: the directory does not exist", path), "create the directory, or use another file")
	case errors.Is(err, fs.ErrPermission):
		return WithFix(fmt.Errorf("write %s: permission denied", path), "use a file in a directory you own, or run the command as its owner")
	case err != nil:
		return fmt.Errorf("create the configuration file: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write the configuration file: %w", err), os.Remove(path)) // a server would load an incomplete file
	}
	return nil
}
