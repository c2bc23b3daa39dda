package app

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// cgroupFiles lists the files that contain the memory limit of the process's control group, for both cgroup versions.
var cgroupFiles = []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}

// startupTime is the time after which startup is considered complete.
const startupTime = 3 * time.Second

// setMemoryLimit sets the soft memory limit of the Go runtime to 90 % of the process's memory limit, so that the garbage collector runs
// more often before the process reaches its limit and is killed. GOMEMLIMIT takes precedence.
func setMemoryLimit(files []string) {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		if limit := memoryLimit(files); limit > 0 {
			debug.SetMemoryLimit(limit / 10 * 9)
		}
	}
}

// releaseMemoryAfterStart waits until startup is complete and returns unused memory to the system.
func releaseMemoryAfterStart(ctx context.Context) {
	timer := time.NewTimer(startupTime)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
		debug.FreeOSMemory()
	}
}

// memoryLimit returns the first limit found in the files, or 0 if there is none.
func memoryLimit(files []string) int64 {
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && limit > 0 && limit < 1<<46 { // cgroup v1 uses a huge number for no limit
			return limit
		}
	}
	return 0
}
