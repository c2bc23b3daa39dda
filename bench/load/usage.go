package load

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Usage is the resource usage of a process and its children.
type Usage struct {
	CPU    time.Duration // CPU time since the processes started
	Memory int64         // resident bytes
	File   int64         // part of Memory: pages of the program's file, which the kernel can drop
}

// UsageOf returns the usage of a process and its children. It fails when one of these processes has ended.
func UsageOf(pid int) (Usage, error) {
	sum, err := process(pid)
	for _, child := range children(pid) {
		u, failed := UsageOf(child)
		sum.CPU, sum.Memory, sum.File, err = sum.CPU+u.CPU, sum.Memory+u.Memory, sum.File+u.File, errors.Join(err, failed)
	}
	return sum, err
}

func process(pid int) (Usage, error) {
	var ts unix.Timespec
	// The clock ID of another process, computed as in clock_getcpuclockid. The files in /proc report CPU time only in
	// steps of 10 ms.
	if err := unix.ClockGettime(int32(^pid<<3|2), &ts); err != nil {
		return Usage{}, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	var size, resident, shared int64
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err == nil {
		_, err = fmt.Sscan(string(statm), &size, &resident, &shared)
	}
	if err != nil {
		return Usage{}, fmt.Errorf("read memory usage of process %d: %w", pid, err)
	}
	page := int64(os.Getpagesize())
	return Usage{CPU: time.Duration(ts.Nano()), Memory: resident * page, File: shared * page}, nil
}

func children(pid int) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // each thread has its own file
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread that has ended has no file
		for child := range strings.FieldsSeq(string(text)) {
			n, _ := strconv.Atoi(child)
			all = append(all, n)
		}
	}
	return all
}
