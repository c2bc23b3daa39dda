package store

import (
	"bytes"
	"strings"
	"testing"
)

func TestWhatIsPackedComesBack(t *testing.T) {
	t.Parallel()
	p := newPacker()
	for _, text := range []string{"x", "short", strings.Repeat("a trace that repeats itself ", 200), strings.Repeat("\x00\xff", 4096)} {
		for name, pack := range map[string]func(to, b []byte) []byte{"appendPacked": p.appendPacked, "appendQuick": p.appendQuick} {
			before := []byte("before")
			packed, ok := bytes.CutPrefix(pack(before, []byte(text)), before)
			if !ok {
				t.Errorf("%s changed what was there before", name)
			}
			got, err := p.unpack(packed)
			if err != nil || !bytes.Equal(got, []byte(text)) {
				t.Errorf("%s of %d bytes came back as %d: %v", name, len(text), len(got), err)
			}
			if len(text) > packMin && len(packed) > len(text)/4 {
				t.Errorf("%s made %d bytes of %d", name, len(packed), len(text))
			}
		}
	}
}

func TestDamageIsAnError(t *testing.T) {
	t.Parallel()
	p := newPacker()
	if _, err := p.unpack([]byte{packedQuick, 0xff, 0xff, 0xff}); err == nil {
		t.Error("damage was read")
	}
}
