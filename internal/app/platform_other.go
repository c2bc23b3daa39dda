//go:build !unix

package app

import "syscall"

// reloadSignal never comes here; the file's changes are noticed all the same.
const reloadSignal = syscall.SIGHUP

func diskBytes(string) (free, total int64) { return -1, -1 }
