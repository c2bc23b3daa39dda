//go:build unix

package app

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// ReloadSignal is the signal that makes a running server reload its configuration.
const ReloadSignal = syscall.SIGHUP

// DiskBytes returns the free and total size of the disk that holds the given directory, or -1 if they are unknown.
func DiskBytes(dir string) (free, total int64) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return -1, -1
	}
	size := int64(uint64(s.Bsize)) // the type of Bsize differs between systems
	return int64(s.Bavail) * size, int64(s.Blocks) * size
}
