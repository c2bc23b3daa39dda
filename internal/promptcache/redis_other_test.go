//go:build !linux

package promptcache

import "os/exec"

// endWithParent does nothing: only Linux can tie a process to its parent.
func endWithParent(*exec.Cmd) {}
