//go:build !linux

package redistest

import "os/exec"

// endWithParent does nothing, because only Linux can kill a process automatically when its parent exits.
func endWithParent(*exec.Cmd) {}
