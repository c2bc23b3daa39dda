//go:build unix

package app

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const reloadSignal = syscall.SIGHUP

// freeBytes is what is left on the disk that holds a directory; -1 when that cannot be told.
func freeBytes(dir string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return -1
	}
	return int64(s.Bavail) * s.Bsize
}
