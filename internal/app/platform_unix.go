//go:build unix

package app

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const reloadSignal = syscall.SIGHUP

// diskBytes is what is left on the disk that holds a directory, and how large it is; -1 when that cannot be told.
func diskBytes(dir string) (free, total int64) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return -1, -1
	}
	size := int64(uint64(s.Bsize)) // systems differ in the type of it
	return int64(s.Bavail) * size, int64(s.Blocks) * size
}
