//go:build !unix

package app

import "syscall"

// ReloadSignal is never sent on this platform; changes of the file are still detected.
const ReloadSignal = syscall.SIGHUP

// DiskBytes returns -1 for the free and total size of a disk, because they are unknown on this platform.
func DiskBytes(string) (free, total int64) { return -1, -1 }
