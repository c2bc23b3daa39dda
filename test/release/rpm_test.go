package release

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Tags of an RPM header.
const (
	rpmName, rpmVersion, rpmArch           = 1000, 1001, 1022
	rpmPostinstall, rpmPreremove, rpmAfter = 1024, 1025, 1026
	rpmModes, rpmOwners                    = 1030, 1039
	rpmDirIndexes, rpmBaseNames, rpmDirs   = 1116, 1117, 1118
)

// rpmHeader is the header of an RPM package: texts and numbers by tag.
type rpmHeader struct {
	text    map[int][]string
	numbers map[int][]int
}

// parseRPM reads the header of a package: 96 bytes of lead, the header of the signature, padding to 8 bytes, and the header.
func parseRPM(data []byte) (rpmHeader, error) {
	h := rpmHeader{map[int][]string{}, map[int][]int{}}
	at := 96
	for part := range 2 {
		if len(data) < at+16 || !bytes.HasPrefix(data[at:], []byte{0x8e, 0xad, 0xe8, 1}) {
			return h, errors.New("the package has no header")
		}
		count, size := int(binary.BigEndian.Uint32(data[at+8:])), int(binary.BigEndian.Uint32(data[at+12:]))
		index, store := data[at+16:at+16+16*count], data[at+16+16*count:at+16+16*count+size]
		if part == 0 {
			at += (16 + 16*count + size + 7) / 8 * 8
			continue
		}
		for entry := range slices.Chunk(index, 16) {
			field := func(i int) int { return int(binary.BigEndian.Uint32(entry[4*i:])) }
			tag, kind, values, n := field(0), field(1), store[field(2):], field(3)
			for i := range n {
				switch kind {
				case 3: // array of 16-bit numbers
					h.numbers[tag] = append(h.numbers[tag], int(binary.BigEndian.Uint16(values[2*i:])))
				case 4: // array of 32-bit numbers
					h.numbers[tag] = append(h.numbers[tag], int(binary.BigEndian.Uint32(values[4*i:])))
				case 6, 8, 9: // text, list of texts, translated text
					text, rest, _ := bytes.Cut(values, []byte{0})
					h.text[tag], values = append(h.text[tag], string(text)), rest
				}
			}
		}
	}
	return h, nil
}

// The RPM package has the same files and scripts as the Debian package.
func TestRPMHasTheFilesOfThePackage(t *testing.T) {
	f := open(t)
	want := map[string]int{ // expected modes by path
		"/etc/fairlead":                                      0o40755,
		"/usr/bin/fairlead":                                  0o100755,
		"/usr/lib/systemd/system/fairlead.service":           0o100644,
		"/usr/lib/sysusers.d/fairlead.conf":                  0o100644,
		"/usr/share/bash-completion/completions/fairlead":    0o100644,
		"/usr/share/doc/fairlead/copyright":                  0o100644,
		"/usr/share/fish/vendor_completions.d/fairlead.fish": 0o100644,
		"/usr/share/zsh/site-functions/_fairlead":            0o100644,
	}
	for arch, machine := range map[string]string{"amd64": "x86_64", "arm64": "aarch64"} {
		h, err := parseRPM(f.read(t, f.name("linux", arch)+".rpm"))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for i, name := range h.text[rpmBaseNames] {
			got[path.Join(h.text[rpmDirs][h.numbers[rpmDirIndexes][i]], name)] = h.numbers[rpmModes][i]
			if owner := h.text[rpmOwners][i]; owner != "root" {
				t.Errorf("%s: the owner of %s is %s, want root", arch, name, owner)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", arch, diff)
		}
		name, version, built := h.text[rpmName][0], h.text[rpmVersion][0], h.text[rpmArch][0]
		if name != "fairlead" || strings.ReplaceAll(version, "~", "-") != f.version || built != machine {
			t.Errorf("the package is %s %s for %s, want fairlead %s for %s", name, version, built, f.version, machine)
		}
		for tag, part := range map[int]string{rpmPostinstall: "systemd-sysusers fairlead.conf", rpmPreremove: "systemctl disable --now fairlead.service", rpmAfter: "systemctl daemon-reload"} {
			if len(h.text[tag]) != 1 || !strings.Contains(h.text[tag][0], part) {
				t.Errorf("%s: the script with tag %d is %q, want one with %q", arch, tag, h.text[tag], part)
			}
		}
	}
}
