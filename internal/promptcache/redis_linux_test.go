package promptcache

import (
	"os/exec"
	"syscall"
)

// endWithParent makes a server end with the test process, even when that panics or is killed.
func endWithParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
