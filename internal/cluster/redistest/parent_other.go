//go:build !linux

package redistest

import "os/exec"

// endWithParent does nothing: only Linux can tie a process to its parent's life.
func endWithParent(*exec.Cmd) {}
