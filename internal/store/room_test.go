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
	db := &DB{packer: newPacker(), rooms: sync.Pool{New: func() any { return &room{} }}}
	noise := rand.NewChaCha8([32]byte{}) // compressing makes nothing of it shorter
	for batch := range 3 {
		r := db.rooms.Get().(*room)
		var texts, packed [][]byte
		for i := range 80 {
			text := make([]byte, (i*7919+batch)%(2*smallestBlock))
			if _, err := noise.Read(text); err != nil {
				t.Fatal(err)
			}
			texts, packed = append(texts, text), append(packed, r.pack(db.packer, text))
		}
		for i, text := range texts {
			if got, err := db.packer.unpack(packed[i]); err != nil || !bytes.Equal(got, text) {
				t.Fatalf("batch %d: %d bytes came back as %d, %v", batch, len(text), len(got), err)
			}
		}
		db.giveBack(r)
	}
	if got := (&room{}).pack(db.packer, nil); got != nil {
		t.Errorf("nil became %x", got)
	}
}

func TestRoomsThatAreKeptAreBounded(t *testing.T) {
	t.Parallel()
	db := &DB{packer: newPacker()}
	for _, length := range []int{100, largestBlock, 3 * largestBlock, 2 * largestRoom} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			t.Parallel()
			r := &room{}
			for range 2*largestRoom/max(length, smallestBlock) + 1 {
				r.pack(db.packer, make([]byte, length))
				r.filling = len(r.blocks) // as if it were full
			}
			db.giveBack(r)
			kept := 0
			for _, block := range r.blocks {
				if len(block) > 0 {
					t.Errorf("a block begins with %d bytes of the batch before", len(block))
				}
				kept += cap(block)
			}
			if kept > largestRoom || r.filling != 0 {
				t.Errorf("%d bytes are kept, and filling begins with block %d", kept, r.filling)
			}
		})
	}
}
