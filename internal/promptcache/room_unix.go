//go:build unix

package promptcache

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// newBuckets takes memory for so many of the system, and returns what gives it back. The collector would count it, and let the heap
// grow by as much again before it collects.
func newBuckets(n int) (buckets []bucket, free func()) {
	size := uintptr(n) * unsafe.Sizeof(bucket{})
	p, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]bucket, n), func() {}
	}
	return unsafe.Slice((*bucket)(p), n), func() { _ = unix.MunmapPtr(p, size) } // it is a whole mapping: nothing can go wrong
}
