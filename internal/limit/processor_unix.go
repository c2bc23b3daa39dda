//go:build unix

package limit

import (
	"syscall"
	"time"
)

// processorTime is how long processors have worked for this process.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0 // never busy: nothing is shed
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
