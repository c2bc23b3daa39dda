//go:build unix

package promptcache

import (
	"runtime"
	"testing"
	"unsafe"
)

// Not parallel: it counts what the whole process allocates.
func TestBucketsAreNotOnTheHeap(t *testing.T) {
	const n = 1 << 14
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	buckets, free := newBuckets(n)
	runtime.ReadMemStats(&after)
	defer free()
	if got := after.TotalAlloc - before.TotalAlloc; got > n*uint64(unsafe.Sizeof(bucket{}))/16 {
		t.Errorf("%d buckets took %d bytes of the heap", n, got)
	}
	buckets[n-1].keys[ways-1] = 1 // all of them are there
}
