package app

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOnlyWhatCannotHaveChangedIsReleased(t *testing.T) {
	t.Parallel()
	got := unwritten(`00400000-01ae4000 r-xp 00000000 fe:00 131 /opt/fair lead/bin
01ae4000-03d63000 r--p 016e4000 fe:00 131 /opt/fair lead/bin
03d63000-041a9000 rw-p 03963000 fe:00 131 /opt/fair lead/bin
041a9000-06200000 rw-p 00000000 00:00 0
7f0000000000-7f0000001000 r-xp 00000000 fe:00 132 /lib/libc.so
7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0 [vdso]
nonsense r-xp 0 0 0 /opt/fair lead/bin
`, "/opt/fair lead/bin")
	want := []span{{0x400000, 0x1ae4000, true}, {0x1ae4000, 0x3d63000, false}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(span{})); diff != "" {
		t.Error(diff)
	}
}

func TestAProgramThatWasReleasedRunsOn(t *testing.T) {
	t.Parallel()
	releaseProgram()
	if got := unwritten("a-b r--p 0 0 0 x", "x"); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestConstantsComeBackByParts(t *testing.T) {
	t.Parallel()
	got := span{from: 0, to: 3*partSize + 4096}.everyOther()
	if diff := cmp.Diff([]span{{0, partSize, false}, {2 * partSize, 3 * partSize, false}}, got, cmp.AllowUnexported(span{})); diff != "" {
		t.Error(diff)
	}
	got = span{from: partSize, to: partSize + 4096}.everyOther()
	if diff := cmp.Diff([]span{{partSize, partSize + 4096, false}}, got, cmp.AllowUnexported(span{})); diff != "" {
		t.Error(diff)
	}
}
