//go:build unix

package app

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const reloadSignal = syscall.SIGHUP

// diskBytes returns the free and total size of the disk that holds a directory, or -1 if they are unknown.
func diskBytes(dir string) (free, total int64) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return -1, -1
	}
	size := int64(uint64(s.Bsize)) // the type of Bsize differs between systems
	return int64(s.Bavail) * size, int64(s.Blocks) * size
}
