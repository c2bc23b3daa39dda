package response

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/internal/llm"
)

func TestBufferReturnsTheAddedBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b Buffer
		var want []byte
		for _, chunk := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 3*blockSize)).Draw(t, "chunks") {
			before := b.Bytes(nil)
			copied := bytes.Clone(before)
			b.append(chunk)
			want = append(want, chunk...)
			if !bytes.Equal(before, copied) {
				t.Fatal("a later Add changed bytes that were read before")
			}
		}
		if got := b.Bytes(nil); !bytes.Equal(got, want) || b.size != len(want) {
			t.Fatalf("read %d of %d bytes, size %d", len(got), len(want), b.size)
		}
	})
}

func TestBufferHasLittleUnusedMemory(t *testing.T) {
	t.Parallel()
	var b Buffer
	for range 1000 {
		b.append([]byte("One of the many small chunks that streams are made of."))
	}
	allocated := len(b.blocks) * blockSize
	if unused := allocated - b.size; unused > b.size/3 {
		t.Errorf("%d bytes allocated for %d, want at most a third unused", allocated, b.size)
	}
}

func TestBufferIsEmptyAfterReset(t *testing.T) {
	t.Parallel()
	var first, second Buffer
	first.append([]byte("The first text."))
	text := first.Bytes(nil)
	first.Reset()
	second.append([]byte("Another one."))
	if first.size != 0 || len(first.Bytes(nil)) != 0 || string(text) != "The first text." || string(second.Bytes(nil)) != "Another one." {
		t.Errorf("text %q, buffers %q and %q; want the first text, an empty buffer and the second text",
			text, first.Bytes(nil), second.Bytes(nil))
	}
}

func TestBufferStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ev     llm.Event
		stream bool
		full   bool
	}{
		"whole":                {llm.Event{Data: make([]byte, 10)}, false, false},
		"whole, too long":      {llm.Event{Data: make([]byte, 11)}, false, true},
		"stream":               {llm.Event{Data: make([]byte, 5)}, true, false},
		"stream, too long":     {llm.Event{Data: make([]byte, 11)}, true, true},
		"text beyond the data": {llm.Event{Data: make([]byte, 5), ASCIIBytes: 11}, true, true},
	} {
		b := Buffer{Limit: 10}
		if b.Add(&tc.ev, tc.stream); b.Full != tc.full || tc.full && b.Size() > 0 {
			t.Errorf("%s: Full = %t with %d bytes, want %t", name, b.Full, b.Size(), tc.full)
		}
	}
}
