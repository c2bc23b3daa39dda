package spool

import (
	"fmt"
	"sync/atomic"
	"testing"
)

func BenchmarkBeginEnd(b *testing.B) {
	for _, strict := range []bool{false, true} {
		b.Run(fmt.Sprintf("strict=%v", strict), func(b *testing.B) {
			s, err := Open(b.TempDir(), Options{Limit: 1 << 40, Strict: strict})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			var n atomic.Int64
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					e := entry(fmt.Sprintf("req_%d", n.Add(1)))
					if s.Begin(e) != nil || s.End(e) != nil {
						b.Error("Begin or End returned an error")
						return
					}
				}
			})
		})
	}
}
