//go:build !linux

package app

// releaseProgram does nothing: only Linux is asked to let go of what starting up has read.
func releaseProgram() {}
