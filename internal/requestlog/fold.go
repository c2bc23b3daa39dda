package requestlog

import (
	"encoding/binary"
	"math/bits"
)

// Folder encodes each event of a stream as its difference from the previous one. An event of a few words has hundreds of bytes
// in common with the previous event, and a long answer has thousands of events. The zero Folder is ready to use.
type Folder struct {
	last []byte
	head [3 * binary.MaxVarintLen32]byte
}

// Fold returns the encoding of the next event: a head, and the part of the event that is new. Both are valid until the next call.
func (f *Folder) Fold(event []byte) (head, news []byte) {
	before := sharedStart(f.last, event)
	after := sharedEnd(f.last[before:], event[before:])
	news = event[before : len(event)-after]
	head = binary.AppendUvarint(f.head[:0], uint64(before)) //nolint:gosec // lengths are not negative
	head = binary.AppendUvarint(head, uint64(after))        //nolint:gosec // lengths are not negative
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
	last := 0 // start of the latest event
	for len(folded) > 0 {
		before, n := binary.Uvarint(folded)
		after, m := binary.Uvarint(folded[max(n, 0):])
		size, k := binary.Uvarint(folded[max(n, 0)+max(m, 0):])
		if n <= 0 || m <= 0 || k <= 0 {
			return lines
		}
		folded = folded[n+m+k:]
		had := uint64(len(lines) - last) //nolint:gosec // last is at most the length
		if before > had || after > had-before || size > uint64(len(folded)) {
			return lines
		}
		if len(lines) > 0 {
			lines = append(lines, '\n')
		}
		begins := len(lines)
		lines = append(lines, lines[last:last+int(before)]...) //nolint:gosec // at most had
		lines = append(lines, folded[:size]...)
		lines = append(lines, lines[last+int(had-after):last+int(had)]...) //nolint:gosec // at most had
		last, folded = begins, folded[size:]
	}
	return lines
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
