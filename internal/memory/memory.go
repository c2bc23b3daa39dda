// Package memory sets the memory limit of the process.
package memory

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// CgroupFiles say how much memory the process's group may use, in the two versions of control groups.
var CgroupFiles = []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}

// settled is how long after the start all that starting up does has been done.
const settled = 3 * time.Second

// SetLimit tells the collector of the limit that the process runs under, so that it works harder before the system ends the
// process. Who sets GOMEMLIMIT knows better.
func SetLimit(files []string) {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		if limit := memoryLimit(files); limit > 0 {
			debug.SetMemoryLimit(limit / 10 * 9)
		}
	}
}

// ReleaseAfterStart returns the heap that was used during the start to the system.
func ReleaseAfterStart(ctx context.Context) {
	timer := time.NewTimer(settled)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
		debug.FreeOSMemory()
	}
}

// memoryLimit is the first that a file names; 0 for none.
func memoryLimit(files []string) int64 {
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && limit > 0 && limit < 1<<46 { // the old version writes a huge number for none
			return limit
		}
	}
	return 0
}
