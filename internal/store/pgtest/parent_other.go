//go:build unix && !linux

package pgtest

import "syscall"

// endWithParent does nothing, because macOS and most other systems cannot end a process automatically when its parent exits.
func endWithParent(*syscall.SysProcAttr) {}
