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
			before := s.text(nil)
			copied := bytes.Clone(before)
			s.add(piece...)
			want = append(want, piece...)
			if !bytes.Equal(before, copied) {
				t.Fatal("what was read before has changed")
			}
		}
		if got := s.text(nil); !bytes.Equal(got, want) || s.size != len(want) {
			t.Fatalf("%d bytes of %d, size %d", len(got), len(want), s.size)
		}
	})
}

func TestAScrollHasLittleRoomToSpare(t *testing.T) {
	t.Parallel()
	var s scroll
	for range 1000 {
		s.add([]byte("One of the many small pieces that streams are made of.")...)
	}
	room := len(s.parts) * scrollPart
	if spare := room - s.size; spare > s.size/3 {
		t.Errorf("%d bytes for a text of %d", room, s.size)
	}
}

func TestAForgottenScrollIsEmpty(t *testing.T) {
	t.Parallel()
	var first, second scroll
	first.add([]byte("The first text.")...)
	text := first.text(nil)
	first.forget()
	second.add([]byte("Another one.")...)
	if first.size != 0 || len(first.text(nil)) != 0 || string(text) != "The first text." || string(second.text(nil)) != "Another one." {
		t.Errorf("%q, then %q and %q", text, first.text(nil), second.text(nil))
	}
}
