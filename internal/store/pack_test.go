package store

import (
	"bytes"
	"compress/flate"
	"strings"
	"testing"
)

func TestWhatIsPackedComesBack(t *testing.T) {
	t.Parallel()
	p := NewCodec()
	for _, text := range []string{"x", "short", strings.Repeat("a trace that repeats itself ", 200), strings.Repeat("\x00\xff", 4096)} {
		before := []byte("before")
		packed, ok := bytes.CutPrefix(p.AppendPacked(before, []byte(text)), before)
		if !ok {
			t.Error("what was there before is changed")
		}
		if len(text) > packMin && len(packed) > len(text)/4 {
			t.Errorf("%d bytes were made of %d", len(packed), len(text))
		}
		checkUnpacked(t, p, packed, text)
	}
}

func TestDeflatedTextsAreRead(t *testing.T) {
	t.Parallel()
	p := NewCodec()
	for _, text := range []string{"short", strings.Repeat("a body that was written before ", 3000)} {
		checkUnpacked(t, p, deflated(t, text), text)
	}
}

// deflated is a text as bodies were packed before.
func deflated(t *testing.T, text string) []byte {
	t.Helper()
	packed := bytes.NewBuffer([]byte{packedDeflate})
	w, err := flate.NewWriter(packed, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func checkUnpacked(t *testing.T, p *Codec, packed []byte, want string) {
	t.Helper()
	if got, err := p.Unpack(packed); err != nil || string(got) != want {
		t.Errorf("%d bytes came back as %d: %v", len(want), len(got), err)
	}
	for _, room := range [][]byte{[]byte("before"), append(make([]byte, 0, 2*len(want)+6), "before"...)} {
		if got, err := p.AppendUnpacked(room, packed); err != nil || string(got) != "before"+want {
			t.Errorf("%d bytes came back as %d in a room of %d: %v", len(want), len(got), cap(room), err)
		}
	}
}

func TestDamageIsAnError(t *testing.T) {
	t.Parallel()
	p := NewCodec()
	for _, packed := range [][]byte{{packedQuick, 0xff, 0xff, 0xff}, {packedQuick, 9, 0}, {packedQuick}, {packedDeflate, 0xff, 0xff}} {
		if _, err := p.Unpack(packed); err == nil {
			t.Errorf("%x was read", packed)
		}
	}
}
