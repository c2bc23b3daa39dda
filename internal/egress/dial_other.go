//go:build !linux

package egress

import "syscall"

// setUserTimeout does nothing on systems without this setting. The retransmission limit of the system applies.
func setUserTimeout(syscall.RawConn) error { return nil }
