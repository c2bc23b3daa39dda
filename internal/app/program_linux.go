package app

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseProgram lets go of what starting up has read of the program's own file: it is two thirds of the memory that the process
// has at rest. What runs from then on comes back as it is used, and constants by pages of the usual size: large ones would bring two
// megabytes for a word. Instructions may have large ones, which run faster. It is only advice: what the system does not take
// changes nothing.
func releaseProgram() {
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for _, r := range unwritten(string(maps), own) {
		if !r.runs {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, r.from, r.to-r.from, unix.MADV_NOHUGEPAGE)
		}
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, r.from, r.to-r.from, unix.MADV_DONTNEED)
	}
}

// span is a part of the address space.
type span struct {
	from, to uintptr
	runs     bool // it has instructions
}

// unwritten are the parts of a file in the list of a process's mappings that the process cannot have changed.
func unwritten(maps, file string) (spans []span) {
	for line := range strings.Lines(maps) {
		fields := strings.Fields(line) // from-to, rights, offset, device, inode, file
		if len(fields) < 6 || strings.Join(fields[5:], " ") != file || strings.Contains(fields[1], "w") {
			continue
		}
		low, high, _ := strings.Cut(fields[0], "-")
		from, err := strconv.ParseUint(low, 16, 64)
		if err != nil {
			continue
		}
		to, err := strconv.ParseUint(high, 16, 64)
		if err != nil || to <= from {
			continue
		}
		spans = append(spans, span{uintptr(from), uintptr(to), strings.Contains(fields[1], "x")})
	}
	return spans
}
