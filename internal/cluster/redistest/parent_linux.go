package redistest

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the server end with the test process, even if the test process is killed.
func endWithParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
