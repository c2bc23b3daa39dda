//go:build !unix

package app

import "syscall"

// reloadSignal is never sent on this platform; changes of the file are still detected.
const reloadSignal = syscall.SIGHUP

func diskBytes(string) (free, total int64) { return -1, -1 }
