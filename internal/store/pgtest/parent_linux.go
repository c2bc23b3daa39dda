package pgtest

import "syscall"

// endWithParent makes the server end with the test process, even if the test process is killed.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }
