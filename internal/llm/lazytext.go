package llm

import (
	"bytes"
	"math"
	"strings"
	"sync"
)

// LazyText is a text of a request that is decoded on first use, because most texts are never used. The zero value is empty.
type LazyText struct {
	text    string
	raw     []byte // the text as it stands in JSON, without its quotes
	escaped bool
}

// PlainText is a text that was decoded already.
func PlainText(text string) LazyText { return LazyText{text: text} }

// RawText is a text as it stands in JSON, without its quotes. The bytes are not copied.
func RawText(raw []byte) LazyText {
	return LazyText{raw: raw, escaped: bytes.IndexByte(raw, '\\') >= 0}
}

// Empty reports whether the text is empty.
func (p LazyText) Empty() bool { return p.text == "" && len(p.raw) == 0 }

// Equal reports whether both say the same.
func (p LazyText) Equal(other LazyText) bool { return p.Text(math.MaxInt) == other.Text(math.MaxInt) }

// Text returns at most limit bytes of the text, give or take those of escapes: of a longer one its beginning, three quarters
// of the limit, and its end.
func (p LazyText) Text(limit int) string {
	if p.raw == nil {
		if len(p.text) <= limit {
			return p.text
		}
		head, tail := cut(len(p.text), limit)
		return strings.ToValidUTF8(p.text[:head], "") + "\n" + strings.ToValidUTF8(p.text[tail:], "")
	}
	if len(p.raw) <= limit {
		return p.plain(p.raw)
	}
	head, tail := cut(len(p.raw), limit)
	for tail < len(p.raw) && p.escaped && p.raw[tail-1] == '\\' {
		tail++ // not in the middle of an escape
	}
	return strings.ToValidUTF8(p.plain(p.raw[:head]), "") + "\n" + strings.ToValidUTF8(p.plain(p.raw[tail:]), "")
}

func (p LazyText) plain(raw []byte) string {
	if !p.escaped {
		return string(raw)
	}
	if len(raw) > plainRoom {
		return string(unescape(make([]byte, 0, len(raw)), raw))
	}
	room := plainRooms.Get().(*[plainRoom]byte)
	defer plainRooms.Put(room)
	return string(unescape(room[:0], raw)) // which is never longer
}

// plainRoom is the length up to which texts share the room that they have on their way to a string.
const plainRoom = 16 << 10

var plainRooms = sync.Pool{New: func() any { return new([plainRoom]byte) }}

// cut says where the beginning of a text of a size ends and its end begins.
func cut(size, limit int) (head, tail int) {
	head = limit / 4 * 3
	return head, size - (limit - head)
}
