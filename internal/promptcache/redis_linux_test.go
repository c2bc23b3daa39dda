package promptcache

import (
	"os/exec"
	"syscall"
)

// endWithParent makes a server exit with the test process, even if the process panics or is killed.
func endWithParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
