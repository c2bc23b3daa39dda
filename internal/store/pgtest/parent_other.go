//go:build unix && !linux

package pgtest

import "syscall"

// endWithParent does nothing: only Linux can tie a process to its parent's life.
func endWithParent(*syscall.SysProcAttr) {}
