//go:build unix && !linux

package pgtest

import "syscall"

// endWithParent does nothing, because only Linux can end a process with its parent.
func endWithParent(*syscall.SysProcAttr) {}
