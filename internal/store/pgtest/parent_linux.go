package pgtest

import "syscall"

// endWithParent makes Linux end the server when the test process exits, even if the test process is killed.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }
