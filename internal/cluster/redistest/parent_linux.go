package redistest

import (
	"os/exec"
	"syscall"
)

// endWithParent makes a server end with the test process, even when that is killed.
func endWithParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
