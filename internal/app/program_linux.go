package app

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseProgram lets go of what starting up has read of the program's own file: it is two thirds of the memory that the process
// has at rest. What runs from then on comes back as it is used, and constants by small parts: large pages would bring two
// megabytes for a word. The advice that tells these apart is about dumps of memory, which have no such pages anyway.
// Instructions may have large ones, which run faster. It is only advice: what the system does not take changes nothing.
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
			advise(r, unix.MADV_NOHUGEPAGE)
			for _, part := range r.everyOther() {
				advise(part, unix.MADV_DONTDUMP)
			}
		}
		advise(r, unix.MADV_DONTNEED)
	}
}

func advise(s span, advice uintptr) {
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, s.from, s.to-s.from, advice)
}

// span is a part of the address space.
type span struct {
	from, to uintptr
	runs     bool // it has instructions
}

// partSize is how much of the constants comes back at once at most.
const partSize = 16 << 10

// everyOther is every other part of a span. Parts that are told apart by some advice come back one by one: the system maps what it has
// around a page that is used, up to a whole large folio of its cache, but never beyond such a part. Under load a sixth of that is used.
func (s span) everyOther() (parts []span) {
	for from := s.from; from < s.to; from += 2 * partSize {
		parts = append(parts, span{from: from, to: min(from+partSize, s.to)})
	}
	return parts
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
