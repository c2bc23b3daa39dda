package logstore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"fairlead.dev/internal/store/entryblock"
)

// TestCompressedTextsStayValid compresses more than a chunk holds, in texts of all lengths, in batches that share buffers.
func TestCompressedTextsStayValid(t *testing.T) {
	t.Parallel()
	db := &Store{codec: entryblock.NewCodec(), buffers: sync.Pool{New: func() any { return &batchBuffers{} }}}
	noise := rand.NewChaCha8([32]byte{}) // source of incompressible text
	for batch := range 3 {
		r := db.buffers.Get().(*batchBuffers)
		var texts, packed [][]byte
		for i := range 80 {
			text := make([]byte, (i*7919+batch)%(2*minChunk))
			if _, err := noise.Read(text); err != nil {
				t.Fatal(err)
			}
			texts, packed = append(texts, text), append(packed, r.compress(db.codec.AppendPacked, text))
		}
		for i, text := range texts {
			if got, err := db.codec.Unpack(packed[i]); err != nil || !bytes.Equal(got, text) {
				t.Fatalf("batch %d: unpacked %d bytes as %d other bytes, %v", batch, len(text), len(got), err)
			}
		}
		db.release(r)
	}
	if got := (&batchBuffers{}).compress(db.codec.AppendPacked, nil); got != nil {
		t.Errorf("compress(nil) = %x, want nil", got)
	}
}

func TestReleasedBuffersAreBounded(t *testing.T) {
	t.Parallel()
	db := &Store{codec: entryblock.NewCodec()}
	for _, length := range []int{100, maxChunk, 3 * maxChunk, 2 * maxBufferBytes} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			t.Parallel()
			r := &batchBuffers{}
			for range 2*maxBufferBytes/max(length, minChunk) + 1 {
				r.compress(db.codec.AppendPacked, make([]byte, length))
				r.filling = len(r.chunks) // simulates that all chunks are full
			}
			db.release(r)
			kept := 0
			for _, chunk := range r.chunks {
				if len(chunk) > 0 {
					t.Errorf("a chunk contains %d bytes of the previous batch, want none", len(chunk))
				}
				kept += cap(chunk)
			}
			if kept > maxBufferBytes || r.filling != 0 {
				t.Errorf("%d bytes kept, filling chunk %d; want at most %d, chunk 0", kept, r.filling, maxBufferBytes)
			}
		})
	}
}
