package llm

import (
	"bytes"
	"math"
	"strings"
	"sync"
	"unsafe"
)

// LazyText is request text that is decoded only when it is read, because most text is never read. The zero value is empty.
type LazyText struct {
	raw     []byte // JSON-encoded text, without the quotes
	escaped bool
}

// RawText returns a LazyText for JSON-encoded text, without the quotes. It does not copy the bytes.
func RawText(raw []byte) LazyText {
	return LazyText{raw: raw, escaped: bytes.IndexByte(raw, '\\') >= 0}
}

// DecodedText returns a LazyText for decoded text. It does not copy the string.
func DecodedText(s string) LazyText { return LazyText{raw: unsafe.Slice(unsafe.StringData(s), len(s))} }

// Empty reports whether the text is empty.
func (p LazyText) Empty() bool { return len(p.raw) == 0 }

// Equal reports whether the decoded strings are equal.
func (p LazyText) Equal(other LazyText) bool { return p.Text(math.MaxInt) == other.Text(math.MaxInt) }

// Text returns at most about limit bytes of the text. If the text is longer, Text returns its beginning (three quarters of the limit) and
// its end.
func (p LazyText) Text(limit int) string {
	if len(p.raw) <= limit {
		return p.plain(p.raw)
	}
	head := limit / 4 * 3
	tail := len(p.raw) - (limit - head)
	for tail < len(p.raw) && p.escaped && p.raw[tail-1] == '\\' {
		tail++ // do not start inside an escape
	}
	return strings.ToValidUTF8(p.plain(p.raw[:head]), "") + "\n" + strings.ToValidUTF8(p.plain(p.raw[tail:]), "")
}

func (p LazyText) plain(raw []byte) string {
	if !p.escaped {
		return string(raw)
	}
	if len(raw) > decodeBufferSize {
		return string(unescape(make([]byte, 0, len(raw)), raw))
	}
	buffer := decodeBuffers.Get().(*[decodeBufferSize]byte)
	defer decodeBuffers.Put(buffer)
	return string(unescape(buffer[:0], raw)) // the decoded text is never longer
}

// decodeBufferSize is the size of the pooled buffers in which text is decoded.
const decodeBufferSize = 16 << 10

var decodeBuffers = sync.Pool{New: func() any { return new([decodeBufferSize]byte) }}
