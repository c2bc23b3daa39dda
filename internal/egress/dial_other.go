//go:build !linux

package egress

import "syscall"

// setUserTimeout does nothing where the system has no such setting: its own retransmission limit applies.
func setUserTimeout(syscall.RawConn) error { return nil }
