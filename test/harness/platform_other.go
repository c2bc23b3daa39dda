//go:build !linux

package harness

import (
	"errors"
	"os"
	"syscall"
)

func dieWithParent() *syscall.SysProcAttr { return nil }

func openTerminal() (ours, theirs *os.File, err error) {
	return nil, nil, errors.New("terminals are supported only on Linux")
}
