package entryblock

import (
	"bytes"
	"strings"
	"testing"
)

func TestPartsAreUnpackedAndShorter(t *testing.T) {
	t.Parallel()
	p := NewCodec()
	for name, pack := range map[string]func(to, b []byte) []byte{"zstd": p.AppendPart, "s2": p.AppendPartFast} {
		for _, text := range []string{"", "short", strings.Repeat("words of a part ", minPart/16), strings.Repeat("a part that repeats itself ", 200), strings.Repeat("a long part ", MaxZstd)} {
			before := []byte("before")
			packed, ok := bytes.CutPrefix(pack(before, []byte(text)), before)
			if !ok {
				t.Errorf("%s: append changed the existing content", name)
			}
			if len(text) >= minPart && len(packed) > len(text)/3 {
				t.Errorf("%s: packed %[3]d bytes into %[2]d, want at most a third", name, len(packed), len(text))
			}
			checkUnpacked(t, p, packed, text)
		}
	}
}

func checkUnpacked(t *testing.T, p *Codec, packed []byte, want string) {
	t.Helper()
	if got, err := p.Unpack(packed); err != nil || string(got) != want {
		t.Errorf("unpacked %d bytes as %d other bytes: %v", len(want), len(got), err)
	}
	for _, to := range [][]byte{[]byte("before"), append(make([]byte, 0, 2*len(want)+6), "before"...)} {
		if got, err := p.AppendUnpacked(to, packed); err != nil || string(got) != "before"+want {
			t.Errorf("unpacked %d bytes as %d other bytes with capacity %d: %v", len(want), len(got), cap(to), err)
		}
	}
}

func TestUnpackRejectsCorruptText(t *testing.T) {
	t.Parallel()
	p := NewCodec()
	for _, packed := range [][]byte{{packedS2, 0xff, 0xff, 0xff}, {packedS2, 9, 0}, {packedS2}, {9, 0xff, 0xff}} {
		if _, err := p.Unpack(packed); err == nil {
			t.Errorf("Unpack(%x) succeeded, want an error", packed)
		}
	}
}

func TestDecodeRejectsCorruptBlocks(t *testing.T) {
	t.Parallel()
	p := NewCodec()
	whole := p.EncodeSlots(Slots{[]byte("one"), nil, []byte(strings.Repeat("three", 1000))})
	for _, content := range [][]byte{whole[:len(whole)-1], {Plain, 200}, {Plain, 3, 'x'}, {packedS2, 1}} {
		if all, err := p.DecodeSlots(content); err == nil {
			t.Errorf("DecodeSlots of %x returned %d slots, want an error", content[:2], len(all))
		}
	}
	for _, slot := range []string{"", "\x01i", "\x01i\x00\x05", "\x01i\x00\x00\x09"} {
		if _, err := p.DecodeSlotBody([]byte(slot)); err == nil {
			t.Errorf("DecodeSlotBody(%q) succeeded, want an error", slot)
		}
	}
}

func TestPackDistinguishesNilAndEmpty(t *testing.T) {
	t.Parallel()
	p := NewCodec()
	for _, want := range [][]byte{nil, {}, {0}, []byte("short"), bytes.Repeat([]byte("long"), 5000)} {
		got, err := p.Unpack(p.Pack(want))
		if err != nil || !bytes.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("unpacked %d bytes as %d, %v; want equal bytes and nil only for nil", len(want), len(got), err)
		}
	}
}
