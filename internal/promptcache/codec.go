package promptcache

import (
	"strconv"
	"strings"
	"time"
)

// Replicas exchange links as text: one line with the turn number, the time of last use and the serving target, then one line per
// target that has the link cached. Text in another format, such as the format of a later version, is ignored.
const codecVersion = "1"

// remoteKey returns the key of a link in the Remote.
func remoteKey(p linkKey) string {
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

// encode returns the entry as text, and the time until the last cached copy of the link expires. The text is empty if
// no target has the link cached.
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

// merge adds another replica's record of a link. It never shortens an expiry. It ignores malformed lines and expiry times beyond
// maxLifetime.
func (m *Memory) merge(p linkKey, text string, now uint32) {
	head, rest, _ := strings.Cut(text, "\n")
	version, head, _ := strings.Cut(head, " ")
	turn, head, _ := strings.Cut(head, " ")
	seen, served, _ := strings.Cut(head, " ")
	number, err := strconv.ParseUint(turn, 10, 16)
	at, seenErr := strconv.ParseUint(seen, 10, 32)
	if version != codecVersion || err != nil || seenErr != nil {
		return
	}
	if id, ok := m.names.assign(served); ok && number > 0 {
		m.put(p, entryUpdate{at: min(uint32(at), now), target: id, turn: uint16(number)})
	}
	for range slots {
		var line string
		if line, rest, _ = strings.Cut(rest, "\n"); line == "" {
			return
		}
		until, target, _ := strings.Cut(line, " ")
		end, err := strconv.ParseUint(until, 10, 32)
		if err != nil || uint32(end) <= now || uint32(end)-now > uint32(maxLifetime/time.Second) {
			continue
		}
		if id, ok := m.names.assign(target); ok {
			m.put(p, entryUpdate{at: min(uint32(at), now), target: id, until: uint32(end)})
		}
	}
}
