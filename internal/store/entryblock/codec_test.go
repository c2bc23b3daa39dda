package entryblock

import (
	"bytes"
	"compress/flate"
	"strings"
	"testing"
)

func TestUnpackReversesPack(t *testing.T) {
	t.Parallel()
	p := NewCodec()
	for _, text := range []string{"x", "short", strings.Repeat("a trace that repeats itself ", 200), strings.Repeat("\x00\xff", 4096)} {
		before := []byte("before")
		packed, ok := bytes.CutPrefix(p.AppendPacked(before, []byte(text)), before)
		if !ok {
			t.Error("the existing content has changed")
		}
		if len(text) > minCompressed && len(packed) > len(text)/4 {
			t.Errorf("%d bytes were packed from %d", len(packed), len(text))
		}
		checkUnpacked(t, p, packed, text)
	}
}

func TestPartsAreUnpackedAndShorter(t *testing.T) {
	t.Parallel()
	p := NewCodec()
	for name, pack := range map[string]func(to, b []byte) []byte{"zstd": p.AppendPart, "s2": p.AppendPartFast} {
		for _, text := range []string{"", "short", strings.Repeat("words of a part ", minPart/16), strings.Repeat("a part that repeats itself ", 200), strings.Repeat("a long part ", MaxZstd)} {
			before := []byte("before")
			packed, ok := bytes.CutPrefix(pack(before, []byte(text)), before)
			if !ok {
				t.Errorf("%s: the existing content has changed", name)
			}
			if len(text) >= minPart && len(packed) > len(text)/3 {
				t.Errorf("%s: %d bytes were packed from %d", name, len(packed), len(text))
			}
			checkUnpacked(t, p, packed, text)
		}
	}
}

func TestUnpackReadsDeflatedText(t *testing.T) {
	t.Parallel()
	p := NewCodec()
	for _, text := range []string{"short", strings.Repeat("a body that was written before ", 3000)} {
		checkUnpacked(t, p, deflated(t, text), text)
	}
}

// deflated packs a text in the format of earlier versions.
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
	for _, to := range [][]byte{[]byte("before"), append(make([]byte, 0, 2*len(want)+6), "before"...)} {
		if got, err := p.AppendUnpacked(to, packed); err != nil || string(got) != "before"+want {
			t.Errorf("%d bytes came back as %d with a capacity of %d: %v", len(want), len(got), cap(to), err)
		}
	}
}

func TestUnpackRejectsCorruptText(t *testing.T) {
	t.Parallel()
	p := NewCodec()
	for _, packed := range [][]byte{{packedS2, 0xff, 0xff, 0xff}, {packedS2, 9, 0}, {packedS2}, {packedDeflate, 0xff, 0xff}} {
		if _, err := p.Unpack(packed); err == nil {
			t.Errorf("%x was accepted", packed)
		}
	}
}

func TestDecodeRejectsCorruptBlocks(t *testing.T) {
	t.Parallel()
	p := NewCodec()
	whole := p.EncodeSlots(Slots{[]byte("one"), nil, []byte(strings.Repeat("three", 1000))})
	for _, content := range [][]byte{whole[:len(whole)-1], {Plain, 200}, {Plain, 3, 'x'}, {packedS2, 1}} {
		if all, err := p.DecodeSlots(content); err == nil {
			t.Errorf("%x was decoded as %d slots", content[:2], len(all))
		}
	}
	for _, slot := range []string{"", "\x01i", "\x01i\x00\x05", "\x01i\x00\x00\x09"} {
		if _, err := p.DecodeSlotBody([]byte(slot)); err == nil {
			t.Errorf("%q was decoded as a body", slot)
		}
	}
}

func TestPackKeepsNilAndEmptyApart(t *testing.T) {
	t.Parallel()
	p := NewCodec()
	for _, want := range [][]byte{nil, {}, {0}, []byte("short"), bytes.Repeat([]byte("long"), 5000)} {
		got, err := p.Unpack(p.Pack(want))
		if err != nil || !bytes.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%d bytes became %d, %v", len(want), len(got), err)
		}
	}
}
