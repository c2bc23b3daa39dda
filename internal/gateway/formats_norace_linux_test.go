//go:build !race

package gateway_test

import (
	"runtime"
	"testing"
)

// TestResponsesRequestAllocatesLikeChat compares the memory that the same conversation takes in both formats, each in the provider's own
// format. BenchmarkFormats compares CPU time.
func TestResponsesRequestAllocatesLikeChat(t *testing.T) { //nolint:paralleltest // counts the allocations of the process
	const mostMore = 1.10
	for name, size := range map[string]int{"1 KB": 1 << 10, "100 KB": 100 << 10} {
		t.Run(name, func(t *testing.T) {
			chatBytes, chatCount := allocatedBy(conversationAsker(t, "chat", size))
			gotBytes, gotCount := allocatedBy(conversationAsker(t, "responses", size))
			t.Logf("responses: %.0f bytes in %.0f allocations; chat: %.0f bytes in %.0f", gotBytes, gotCount, chatBytes, chatCount)
			if gotBytes > mostMore*chatBytes || gotCount > mostMore*chatCount+slack {
				t.Errorf("a Responses request takes %.2f times the bytes and %.2f times the allocations of chat, want at most %.2f", gotBytes/chatBytes, gotCount/chatCount, mostMore)
			}
		})
	}
}

// allocatedBy returns the bytes and the number of allocations of one call.
func allocatedBy(ask func()) (bytes, count float64) {
	const runs = 200
	ask() // the first call fills the pools
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		ask()
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / runs, float64(after.Mallocs-before.Mallocs) / runs
}
