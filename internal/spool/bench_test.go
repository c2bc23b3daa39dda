package spool

import (
	"fmt"
	"sync/atomic"
	"testing"

	"fairlead.dev/internal/requestlog"
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

func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	body := make([]byte, 4<<10)
	for i := range 20_000 {
		e := entry(fmt.Sprintf("req_%d", i))
		e.Body = requestlog.Body{Request: body, Response: body}
		if err := s.End(e); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(s.Stats().Disk)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := Open(dir, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
