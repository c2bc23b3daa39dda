//go:build !unix

package ingress

import "net"

func number(net.Conn) int { return -1 }

// gone cannot be told here: a client that has left is noticed when its answer is written.
func gone([]open) []int { return nil }
