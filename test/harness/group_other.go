//go:build !linux

package harness

import (
	"os/exec"
	"time"
)

// OwnGroup does nothing: process groups are used on Linux only.
func OwnGroup(*exec.Cmd) {}

// KillGroup ends a started command.
func KillGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// GroupCPU returns 0: the processor time is read on Linux only.
func GroupCPU(*exec.Cmd) time.Duration { return 0 }
