package promptcache

import (
	"strconv"
	"strings"
	"time"
)

// What replicas tell each other about a link is text: a line with the turn, when it was seen and who served it, and one
// for each target that is warm. Anything else, such as what a later version writes, is not understood and counts as
// unknown.
const codecVersion = "1"

// keyOf is the name of a link outside the process.
func keyOf(p place) string {
	var b [len("fairlead:prefix:") + 8 + 16]byte
	out := append(b[:0], "fairlead:prefix:"...)
	out = appendHex(out, uint64(p.owner), 8)
	out = appendHex(out, p.key, 16)
	return string(out)
}

func appendHex(b []byte, n uint64, digits int) []byte {
	for digits--; digits >= 0; digits-- {
		b = append(b, "0123456789abcdef"[n>>(4*digits)&15])
	}
	return b
}

// encode writes what an entry tells at a moment, and how long it goes on to be true: until the last target has forgotten.
func (m *Memory) encode(e *entry, now uint32) (text string, lifetime time.Duration) {
	b := append(make([]byte, 0, 128), codecVersion+" "...)
	b = strconv.AppendUint(b, uint64(e.turn), 10)
	b = append(b, ' ')
	b = strconv.AppendUint(b, uint64(e.seen), 10)
	b = append(b, ' ')
	b = append(b, m.names.name(e.last)...)
	var last uint32
	for i, target := range e.targets {
		if target == 0 || e.until[i] <= now {
			continue
		}
		last = max(last, e.until[i])
		b = append(b, '\n')
		b = strconv.AppendUint(b, uint64(e.until[i]), 10)
		b = append(b, ' ')
		b = append(b, m.names.name(target)...)
	}
	if last == 0 {
		return "", 0
	}
	return string(b), time.Duration(last-now) * time.Second
}

// merge takes in what another replica wrote about a link. It never makes anything colder. What is not understood is left
// out, and so are times that no rule allows.
func (m *Memory) merge(p place, text string, now uint32) {
	head, rest, _ := strings.Cut(text, "\n")
	version, head, _ := strings.Cut(head, " ")
	turn, head, _ := strings.Cut(head, " ")
	seen, served, _ := strings.Cut(head, " ")
	number, err := strconv.ParseUint(turn, 10, 16)
	at, seenErr := strconv.ParseUint(seen, 10, 32)
	if version != codecVersion || err != nil || seenErr != nil {
		return
	}
	if id, ok := m.names.take(served); ok && number > 0 {
		m.put(p, note{at: min(uint32(at), now), target: id, turn: uint16(number)})
	}
	for range slots {
		var line string
		if line, rest, _ = strings.Cut(rest, "\n"); line == "" {
			return
		}
		until, target, _ := strings.Cut(line, " ")
		end, err := strconv.ParseUint(until, 10, 32)
		if err != nil || uint32(end) <= now || uint32(end)-now > uint32(longestTTL/time.Second) {
			continue
		}
		if id, ok := m.names.take(target); ok {
			m.put(p, note{at: min(uint32(at), now), target: id, until: uint32(end)})
		}
	}
}
