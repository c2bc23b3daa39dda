package gateway

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestAScrollHoldsWhatWasAdded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s scroll
		var want []byte
		for _, piece := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 3*scrollPart)).Draw(t, "pieces") {
			before := s.text()
			copied := bytes.Clone(before)
			s.add(piece...)
			want = append(want, piece...)
			if !bytes.Equal(before, copied) {
				t.Fatal("what was read before has changed")
			}
		}
		if got := s.text(); !bytes.Equal(got, want) || s.size != len(want) {
			t.Fatalf("%d bytes of %d, size %d", len(got), len(want), s.size)
		}
	})
}

func TestAScrollHasLittleRoomToSpare(t *testing.T) {
	t.Parallel()
	var s scroll
	room := 0
	for range 1000 {
		s.add([]byte("One of the many small pieces that streams are made of.")...)
	}
	for _, part := range s.parts {
		room += cap(part)
	}
	if spare := room - s.size; spare > s.size/3 {
		t.Errorf("%d bytes for a text of %d", room, s.size)
	}
}
