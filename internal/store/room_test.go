package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// TestPackedTextsStayAsTheyAre packs more than the blocks begin with, in texts of all lengths, and batch after batch into the same room.
func TestPackedTextsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	db := &DB{codec: NewCodec(), buffers: sync.Pool{New: func() any { return &batchBuffers{} }}}
	noise := rand.NewChaCha8([32]byte{}) // compressing makes nothing of it shorter
	for batch := range 3 {
		r := db.buffers.Get().(*batchBuffers)
		var texts, packed [][]byte
		for i := range 80 {
			text := make([]byte, (i*7919+batch)%(2*minChunk))
			if _, err := noise.Read(text); err != nil {
				t.Fatal(err)
			}
			texts, packed = append(texts, text), append(packed, r.compress(db.codec, text))
		}
		for i, text := range texts {
			if got, err := db.codec.Unpack(packed[i]); err != nil || !bytes.Equal(got, text) {
				t.Fatalf("batch %d: %d bytes came back as %d, %v", batch, len(text), len(got), err)
			}
		}
		db.release(r)
	}
	if got := (&batchBuffers{}).compress(db.codec, nil); got != nil {
		t.Errorf("nil became %x", got)
	}
}

func TestRoomsThatAreKeptAreBounded(t *testing.T) {
	t.Parallel()
	db := &DB{codec: NewCodec()}
	for _, length := range []int{100, maxChunk, 3 * maxChunk, 2 * maxBufferBytes} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			t.Parallel()
			r := &batchBuffers{}
			for range 2*maxBufferBytes/max(length, minChunk) + 1 {
				r.compress(db.codec, make([]byte, length))
				r.filling = len(r.chunks) // as if it were full
			}
			db.release(r)
			kept := 0
			for _, block := range r.chunks {
				if len(block) > 0 {
					t.Errorf("a block begins with %d bytes of the batch before", len(block))
				}
				kept += cap(block)
			}
			if kept > maxBufferBytes || r.filling != 0 {
				t.Errorf("%d bytes are kept, and filling begins with block %d", kept, r.filling)
			}
		})
	}
}
