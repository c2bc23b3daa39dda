package requestlog

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Folder encodes each event of a stream as its difference from the previous event, to save memory. Successive events typically share
// hundreds of bytes, and a long response has thousands of events. The zero Folder is ready to use.
type Folder struct {
	last []byte
	head [3 * binary.MaxVarintLen32]byte
}

// Fold returns the encoding of the next event: a head, followed by the new part of the event. Both are valid until the next call.
func (f *Folder) Fold(event []byte) (head, news []byte) {
	before := sharedStart(f.last, event)
	after := sharedEnd(f.last[before:], event[before:])
	news = event[before : len(event)-after]
	head = binary.AppendUvarint(f.head[:0], uint64(before)) //nolint:gosec // a length is never negative
	head = binary.AppendUvarint(head, uint64(after))        //nolint:gosec // a length is never negative
	head = binary.AppendUvarint(head, uint64(len(news)))
	f.last = append(f.last[:before], event[before:]...)
	return head, news
}

// Unfold decodes the events of a folded response, one per line.
func (b *Body) Unfold() {
	if b.Folded {
		b.Response, b.Folded = unfold(b.Response), false
	}
}

// unfold decodes events until the input ends or is malformed.
func unfold(folded []byte) (lines []byte) {
	size, previous := 0, 0
	for rest := folded; len(rest) > 0; size += len("\n") + previous {
		before, after, news, left := cutFolded(rest, previous)
		previous, rest = before+len(news)+after, left
	}
	lines, previous = slices.Grow(lines, size), 0
	for len(folded) > 0 {
		before, after, news, rest := cutFolded(folded, previous)
		if rest == nil {
			break
		}
		last := len(lines) - previous // start of the previous event
		if len(lines) > 0 {
			lines = append(lines, '\n')
		}
		begins := len(lines)
		lines = append(lines, lines[last:last+before]...)
		lines = append(lines, news...)
		lines = append(lines, lines[last+previous-after:last+previous]...)
		previous, folded = len(lines)-begins, rest
	}
	return lines
}

// cutFolded decodes an event. previous is the length of the previous event. before and after are the numbers of bytes that the event shares
// with the start and the end of the previous event, and news holds the bytes between them. rest is nil if the event is malformed.
func cutFolded(folded []byte, previous int) (before, after int, news, rest []byte) {
	var numbers [3]int
	for i := range numbers {
		v, n := binary.Uvarint(folded)
		if n <= 0 || v > uint64(previous+len(folded)) { //nolint:gosec // a length is never negative
			return 0, 0, nil, nil
		}
		numbers[i], folded = int(v), folded[n:] //nolint:gosec // the value is at most a length
	}
	before, after, size := numbers[0], numbers[1], numbers[2]
	if before > previous || after > previous-before || size > len(folded) {
		return 0, 0, nil, nil
	}
	return before, after, folded[:size], folded[size:]
}

// sharedStart returns the length of the common prefix of a and b.
func sharedStart(a, b []byte) int {
	n, i := min(len(a), len(b)), 0
	for ; n-i >= 8; i += 8 {
		if d := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); d != 0 {
			return i + bits.TrailingZeros64(d)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// sharedEnd returns the length of the common suffix of a and b.
func sharedEnd(a, b []byte) int {
	n, i := min(len(a), len(b)), 0
	for ; n-i >= 8; i += 8 {
		if d := binary.LittleEndian.Uint64(a[len(a)-i-8:]) ^ binary.LittleEndian.Uint64(b[len(b)-i-8:]); d != 0 {
			return i + bits.LeadingZeros64(d)/8
		}
	}
	for i < n && a[len(a)-1-i] == b[len(b)-1-i] {
		i++
	}
	return i
}
