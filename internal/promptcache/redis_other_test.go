//go:build !linux

package promptcache

import "os/exec"

// endWithParent does nothing: only Linux can end a process together with its parent.
func endWithParent(*exec.Cmd) {}
