//go:build unix && !linux

package pgtest

import "syscall"

// endWithParent does nothing, because only Linux can end a process automatically when its parent exits.
func endWithParent(*syscall.SysProcAttr) {}
