package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// OwnGroup makes a command the leader of a process group, so that it can be ended together with its children.
func OwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = dieWithParent()
	cmd.SysProcAttr.Setpgid = true
}

// KillGroup ends a started command and its children. Processes that have ended are ignored.
func KillGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// GroupCPU returns the processor time that the process group of a started command has used.
func GroupCPU(cmd *exec.Cmd) time.Duration {
	const perTick = 10 * time.Millisecond // the kernel's unit for user space
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var sum time.Duration
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
		}
		// The name of the program is in parentheses and may contain spaces. State, parent and group follow it.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) < 15 || fields[2] != strconv.Itoa(cmd.Process.Pid) {
			continue
		}
		for _, ticks := range fields[11:15] { // CPU time of the process and of the children it has waited for
			n, _ := strconv.ParseInt(ticks, 10, 64)
			sum += time.Duration(n) * perTick
		}
	}
	return sum
}
