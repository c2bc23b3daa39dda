package response

import (
	"sync"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
)

// blockSize is the size of a Buffer block in bytes.
const blockSize = 512

// blocks is a pool of buffer blocks.
var blocks = sync.Pool{New: func() any { return new([blockSize]byte) }}

// Buffer stores a delivered response for the log and for continuing an interrupted stream. Every open stream has one,
// so it grows in small blocks that are never copied. The zero Buffer stores nothing; see Limit.
type Buffer struct {
	// Limit is the maximum size in bytes. It applies to the stored data and separately to the response text, which can be much longer,
	// because repeated parts of a stream are stored only once. The buffer keeps only the beginning of a longer response.
	Limit int64
	Full  bool // whether the response was longer than Limit

	whole  []byte // response in one piece; if set, blocks is empty
	blocks []*[blockSize]byte
	size   int
	text   int64             // number of text bytes in the response
	folder requestlog.Folder // encodes stream events without their repeated parts
}

// Add stores an event. It keeps a reference to ev.Data if the response is not a stream.
func (b *Buffer) Add(ev *llm.Event, stream bool) {
	if b.Full {
		return
	}
	b.text += int64(ev.ASCIIBytes + ev.NonASCIIBytes)
	if !stream {
		if b.Full = max(int64(len(ev.Data)), b.text) > b.Limit; !b.Full {
			b.whole, b.size = ev.Data, len(ev.Data)
		}
		return
	}
	head, changes := b.folder.Fold(ev.Data)
	if b.Full = max(int64(b.size+len(head)+len(changes)), b.text) > b.Limit; !b.Full {
		b.append(head)
		b.append(changes)
	}
}

func (b *Buffer) append(data []byte) {
	for len(data) > 0 {
		at := b.size % blockSize
		if at == 0 {
			b.blocks = append(b.blocks, blocks.Get().(*[blockSize]byte))
		}
		n := copy(b.blocks[len(b.blocks)-1][at:], data)
		data = data[n:]
		b.size += n
	}
}

// Size returns the size of the stored data.
func (b *Buffer) Size() int { return b.size }

// InBlocks reports whether the data is stored in blocks, which Bytes copies.
func (b *Buffer) InBlocks() bool { return b.blocks != nil }

// Bytes returns the stored data: a complete response as it was added, or a folded stream, which is appended to the given slice.
func (b *Buffer) Bytes(to []byte) []byte {
	if b.blocks == nil {
		return b.whole
	}
	left := b.size
	for _, block := range b.blocks {
		n := min(left, blockSize)
		to = append(to, block[:n]...)
		left -= n
	}
	return to
}

// Reset empties the buffer and frees its blocks.
func (b *Buffer) Reset() {
	for _, block := range b.blocks {
		blocks.Put(block)
	}
	*b = Buffer{Limit: b.Limit}
}
