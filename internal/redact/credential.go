package redact

import (
	"bytes"
	"strconv"
)

const (
	// MinCredential is the minimum length of a credential that is masked. The gateway rejects shorter credentials, because they would match
	// ordinary text.
	MinCredential = 8

	// holdFrom is the length of an unfinished match above which a document is held back. Shorter matches are common in
	// ordinary text and contain little more than the prefix that all keys of a vendor share.
	holdFrom = 4

	// maxHeld limits the bytes held back for unfinished matches.
	maxHeld = 64 << 10

	// maxTracks limits the number of members whose unfinished matches are tracked per credential.
	maxTracks = 64

	mask = '*'
)

// Credentials returns data with the credentials replaced with stars. It finds credentials in plain form and inside JSON strings with any
// escapes, including JSON that is nested in such a string. Masking keeps the length of data, and valid JSON stays valid. If nothing was
// masked, the result is data itself, otherwise a copy.
func Credentials(data []byte, secrets ...string) []byte {
	return NewMasker(secrets...).text(data)
}

// Document is one JSON document in a stream, such as the data of a server-sent event.
type Document struct {
	Data []byte
	Own  bool // whether the masker may modify Data and keep it after Scan returns
}

// Masker masks credentials in a stream of JSON documents. In addition to the credentials that Credentials finds, it finds credentials that
// are split over the values of the same member in successive documents, such as the deltas of a response. A nil Masker finds nothing; only
// its Text method may be called.
type Masker struct {
	finders []credentialFinder
	docs    []Document // documents that Take has not returned yet
	taken   int        // number of documents that Take has returned
	size    int        // number of bytes in docs
}

// NewMasker returns a Masker for the credentials, or nil if none is long enough.
func NewMasker(secrets ...string) *Masker {
	var m *Masker
	for _, s := range secrets {
		if len(s) < MinCredential {
			continue
		}
		if m == nil {
			m = &Masker{finders: make([]credentialFinder, 0, len(secrets))}
		}
		m.finders = append(m.finders, credentialFinder{secret: []byte(s)})
	}
	return m
}

// Scan adds a document and masks the credentials in it. It reports whether the documents since the last Take must be
// held back because they end with the beginning of a credential that the next document may continue.
func (m *Masker) Scan(d Document) (hold bool) {
	m.docs, m.size = append(m.docs, d), m.size+len(d.Data)
	for i := range m.finders {
		m.finders[i].scan(m)
	}
	full := m.size > maxHeld // if true, a possible start of a credential is masked instead of held back
	for i := range m.finders {
		for _, t := range m.finders[i].tracks {
			for _, part := range []matcher{t.outer, t.inner} {
				if part.matched < holdFrom || part.ranges[len(part.ranges)-1].doc < m.taken {
					continue
				}
				hold = true
				if full {
					m.cover(part.ranges)
				}
			}
		}
	}
	if !hold || full {
		return false
	}
	m.own(len(m.docs) - 1)
	return true
}

// Take returns the masked documents that were added since the last Take. They are valid until the next Scan.
func (m *Masker) Take() []Document {
	docs := m.docs
	m.taken, m.size, m.docs = m.taken+len(docs), 0, docs[:0]
	return docs
}

// Text masks the credentials in a string that is not a JSON document, such as an error message.
func (m *Masker) Text(s string) string {
	if m == nil || s == "" {
		return s
	}
	return string(m.text([]byte(s)))
}

func (m *Masker) text(data []byte) []byte {
	if m == nil {
		return data
	}
	fresh := Masker{docs: []Document{{Data: data}}}
	for _, f := range m.finders {
		var t track
		f.raw(&fresh)
		f.feed(&fresh, &t, 0, len(data))
	}
	return fresh.docs[0].Data
}

// last returns the document that is being scanned.
func (m *Masker) last() []byte { return m.docs[len(m.docs)-1].Data }

// own makes the data of document i modifiable. It replaces the data with a copy unless Own is set.
func (m *Masker) own(i int) {
	if d := &m.docs[i]; !d.Own {
		d.Data, d.Own = bytes.Clone(d.Data), true
	}
}

// cover masks the ranges in documents that Take has not returned.
func (m *Masker) cover(ranges []byteRange) {
	for _, r := range ranges {
		i := r.doc - m.taken
		if i < 0 {
			continue
		}
		m.own(i)
		for j := r.start; j < r.end; j++ {
			m.docs[i].Data[j] = mask
		}
	}
}

// credentialFinder finds one credential.
type credentialFinder struct {
	secret []byte
	fail   []int            // Knuth-Morris-Pratt table, computed on first use
	tracks map[string]track // unfinished matches by member
}

// track is the state of a match within the value of one member. outer matches the decoded value. inner decodes the value again as JSON
// string content, because tool-call arguments are JSON inside a string.
type track struct {
	outer, inner matcher
	escape       []byte      // unfinished escape sequence in the inner string
	escaped      []byteRange // ranges of the characters in escape
}

func (t *track) idle() bool {
	return t.outer.matched == 0 && t.inner.matched == 0 && len(t.escape) == 0
}

// matcher is a partial match of the credential: the number of matched bytes and the ranges of the matched characters.
type matcher struct {
	matched int
	ranges  []byteRange
}

// byteRange is the location of one character.
type byteRange struct {
	doc        int // number of the document in the stream
	start, end int
	more       bool // whether the range belongs to the same character as the preceding range
}

// scan masks the credential in the last document and records unfinished matches at the ends of string values.
func (f *credentialFinder) scan(m *Masker) {
	f.raw(m)
	var member []byte
	index := 0
	for i := 0; ; {
		at := bytes.IndexByte(m.last()[i:], '"')
		if at < 0 {
			return
		}
		start := i + at + 1
		end := closingQuote(m.last(), start)
		i = min(end+1, len(m.last()))
		rest := bytes.TrimLeft(m.last()[i:], " \t\r\n")
		if len(rest) == 0 || rest[0] != ':' {
			f.value(m, member, index, start, end)
			continue
		}
		if end-start >= len(f.secret) {
			var t track
			f.feed(m, &t, start, end)
		}
		member = m.last()[start:end]
		if bytes.HasSuffix(member, []byte("index")) {
			index = 0
			for _, digit := range bytes.TrimLeft(rest[1:], " \t\r\n") {
				if digit < '0' || digit > '9' || index > 1<<20 {
					break
				}
				index = index*10 + int(digit-'0')
			}
		}
	}
}

// value scans the string value of a member. index is the value of the preceding index member, such as "index" or "output_index", which
// distinguishes the choices and blocks of a response.
func (f *credentialFinder) value(m *Masker, member []byte, index, start, end int) {
	if start == end {
		return
	}
	var t track
	var key string
	if len(f.tracks) > 0 {
		key = trackKey(member, index)
		t = f.tracks[key]
	}
	f.feed(m, &t, start, end)
	switch {
	case !t.idle():
		if f.tracks == nil {
			f.tracks = map[string]track{}
		}
		if key == "" {
			key = trackKey(member, index)
		}
		if _, known := f.tracks[key]; known || len(f.tracks) < maxTracks {
			f.tracks[key] = t
		}
	case key != "":
		delete(f.tracks, key)
	}
}

func trackKey(member []byte, index int) string {
	return strconv.Itoa(index) + string(member)
}

// closingQuote returns the index of the quote that ends the JSON string, or the length of data.
func closingQuote(data []byte, i int) int {
	for {
		at := bytes.IndexByte(data[i:], '"')
		if at < 0 {
			return len(data)
		}
		end := i + at
		slashes := 0
		for end-slashes > i && data[end-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return end
		}
		i = end + 1
	}
}

// raw masks the credential wherever it occurs unescaped, including outside strings.
func (f *credentialFinder) raw(m *Masker) {
	for i := 0; ; i += len(f.secret) {
		at := bytes.Index(m.last()[i:], f.secret)
		if at < 0 {
			return
		}
		i += at
		m.cover([]byteRange{{doc: m.taken + len(m.docs) - 1, start: i, end: i + len(f.secret)}})
	}
}

// feed matches the JSON string content between start and end.
func (f *credentialFinder) feed(m *Masker, t *track, start, end int) {
	first, second := f.secret[0], f.secret[1]
	data := m.last()
	for i := start; i < end; {
		if t.idle() {
			for i < end && data[i] != '\\' && (data[i] != first || i+1 < end && data[i+1] != second && data[i+1] != '\\') {
				i++
			}
			if i == end {
				return
			}
		}
		c, n := jsonChar(data[i:end])
		at := byteRange{doc: m.taken + len(m.docs) - 1, start: i, end: i + n}
		f.match(m, &t.outer, c, at)
		f.inner(m, t, c, at)
		i += n
	}
}

// inner matches a character of the outer string as part of the inner string.
func (f *credentialFinder) inner(m *Masker, t *track, c byte, at byteRange) {
	if len(t.escape) == 0 && c != '\\' {
		f.match(m, &t.inner, c, at)
		return
	}
	t.escape, t.escaped = append(t.escape, c), append(t.escaped, at)
	if len(t.escape) < 2 || t.escape[1] == 'u' && len(t.escape) < 6 {
		return
	}
	c, _ = jsonChar(t.escape)
	for i := range t.escaped {
		t.escaped[i].more = i > 0
	}
	f.match(m, &t.inner, c, t.escaped...)
	t.escape, t.escaped = t.escape[:0], t.escaped[:0]
}

// match processes one character and masks the credential if the character completes it.
func (f *credentialFinder) match(m *Masker, t *matcher, c byte, at ...byteRange) {
	for t.matched > 0 && c != f.secret[t.matched] {
		keep := f.border(t.matched)
		t.drop(t.matched - keep)
		t.matched = keep
	}
	if c != f.secret[t.matched] {
		return
	}
	t.ranges = append(t.ranges, at...)
	if t.matched++; t.matched == len(f.secret) {
		m.cover(t.ranges)
		t.matched, t.ranges = 0, nil
	}
}

// drop removes the ranges that lie within the first n characters.
func (t *matcher) drop(n int) {
	i := 0
	for ; i < len(t.ranges); i++ {
		if !t.ranges[i].more {
			if n == 0 {
				break
			}
			n--
		}
	}
	t.ranges = append(t.ranges[:0], t.ranges[i:]...)
}

// border returns the length of the longest proper prefix of secret[:n] that is also its suffix.
func (f *credentialFinder) border(n int) int {
	if f.fail == nil {
		f.fail = make([]int, len(f.secret))
		for i, k := 1, 0; i < len(f.secret); i++ {
			for k > 0 && f.secret[i] != f.secret[k] {
				k = f.fail[k-1]
			}
			if f.secret[i] == f.secret[k] {
				k++
			}
			f.fail[i] = k
		}
	}
	return f.fail[n-1]
}

// noMatch represents a character that cannot occur in a credential. Credentials are ASCII, because they are sent in
// headers.
const noMatch = 0xff

// jsonChar returns the character at the beginning of JSON string content and the length of its encoding.
func jsonChar(s []byte) (c byte, n int) {
	if s[0] != '\\' || len(s) == 1 {
		return s[0], 1
	}
	switch s[1] {
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'u':
		if len(s) < 6 {
			return s[0], 1
		}
		code, err := strconv.ParseUint(string(s[2:6]), 16, 16)
		switch {
		case err != nil:
			return s[0], 1
		case code >= 0x80:
			return noMatch, 6
		}
		return byte(code), 6
	}
	return s[1], 2 // escaped quote, slash or backslash
}
