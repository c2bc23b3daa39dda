// Package sse reads and writes event streams (text/event-stream). It handles framing only, not the meaning of the data.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// DefaultMaxLine is the default maximum length in bytes of a line, and of the joined data of one event.
const DefaultMaxLine = 16 << 20

const (
	firstBuffer = 1 << 10  // initial size of the buffer; most events are shorter
	keepBuffer  = 64 << 10 // maximum size of a buffer that is kept after its event
	resetBuffer = 4 << 10  // maximum size of a buffer that is kept by Reset
)

// ErrTooLong is returned when a line, or the data of one event, is longer than allowed.
var ErrTooLong = errors.New("event stream line is too long")

var byteOrderMark = []byte("\xef\xbb\xbf")

// Event is one event of a stream. Its slices are valid until the next call to the reader.
type Event struct {
	Name []byte // value of the event field; empty for unnamed events
	Data []byte // data lines joined by LF
	// Unterminated is set if the data was ended by the end of the stream instead of an empty line. Some providers omit the last empty
	// line, so the data is returned, but it may also be truncated by a broken connection.
	Unterminated bool
}

// Reader reads events. It returns slices of its buffer.
type Reader struct {
	src     io.Reader
	maxLine int

	buf  []byte
	pos  int // start of the current line in buf
	scan int // position up to which line ends were searched: buf[pos:scan] does not contain one
	err  error

	started bool // whether the byte order mark was checked
	skipLF  bool // whether the last line ended in CR; an LF that follows belongs to the same line end

	name    []byte
	joined  []byte // joined data lines of the current event if it has more than one
	lines   int    // number of data lines in the current event
	dataPos int    // start of the data in buf if the event has only one data line so far
	dataEnd int
}

// NewReader returns a reader of src. Lines longer than maxLine bytes are rejected with ErrTooLong; 0 means DefaultMaxLine.
func NewReader(src io.Reader, maxLine int) *Reader {
	r := &Reader{}
	r.Reset(src, maxLine)
	return r
}

// Reset returns the reader to the state of a new reader of src, with the parameters of NewReader. Earlier events become invalid.
func (r *Reader) Reset(src io.Reader, maxLine int) {
	if maxLine <= 0 {
		maxLine = DefaultMaxLine
	}
	*r = Reader{src: src, maxLine: maxLine, buf: emptied(r.buf), name: emptied(r.name), joined: emptied(r.joined)}
}

func emptied(b []byte) []byte {
	if cap(b) > resetBuffer {
		return nil
	}
	return b[:0]
}

// First returns the first byte of the stream that is neither white space nor part of a byte order mark, without consuming any bytes.
// Callers use it to distinguish an event stream from another body. It must be called before Next.
func (r *Reader) First() (byte, error) {
	for {
		rest := bytes.TrimPrefix(r.buf, byteOrderMark)
		rest = bytes.TrimLeft(rest, " \t\r\n")
		if len(rest) > 0 && (len(r.buf) >= len(byteOrderMark) || rest[0] != byteOrderMark[0]) {
			return rest[0], nil
		}
		if err := r.fill(); err != nil {
			if len(rest) > 0 {
				return rest[0], nil
			}
			return 0, err
		}
		if len(r.buf) > r.maxLine {
			return 0, ErrTooLong
		}
	}
}

// Rest returns a reader of all bytes that were not consumed. It is used if, according to First, the body is not an event stream.
func (r *Reader) Rest() io.Reader {
	if r.err != nil {
		return io.MultiReader(bytes.NewReader(r.buf[r.pos:]), failing{r.err})
	}
	return io.MultiReader(bytes.NewReader(r.buf[r.pos:]), r.src)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Next returns the next event with data. It returns io.EOF at the end of the stream and other errors of the source
// unchanged. An incomplete event before such an error is dropped.
func (r *Reader) Next() (Event, error) {
	r.name, r.joined, r.lines = r.name[:0], r.joined[:0], 0
	if cap(r.buf) > keepBuffer && len(r.buf)-r.pos < firstBuffer {
		r.buf = append(make([]byte, 0, firstBuffer), r.buf[r.pos:]...)
		r.scan -= r.pos
		r.pos = 0
	}
	if cap(r.joined) > keepBuffer {
		r.joined = nil
	}
	for {
		line, err := r.line()
		if errors.Is(err, io.EOF) && r.lines > 0 {
			return r.event(true), nil
		}
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if r.lines > 0 {
				return r.event(false), nil
			}
			r.name = r.name[:0]
			continue
		}
		if err := r.field(line); err != nil {
			return Event{}, err
		}
	}
}

func (r *Reader) event(unterminated bool) Event {
	ev := Event{Name: r.name, Data: r.joined, Unterminated: unterminated}
	if r.lines == 1 {
		ev.Data = r.buf[r.dataPos:r.dataEnd:r.dataEnd]
	}
	return ev
}

// field handles one line that is not empty. line is a slice of buf. The data of the first data line of an event stays in buf and is copied
// only if a second data line follows.
func (r *Reader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte{':'})
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "event":
		r.name = append(r.name[:0], value...)
		return nil
	case "data":
		r.lines++
	default:
		return nil
	}
	if r.lines == 1 {
		r.dataPos, r.dataEnd = r.pos, r.pos
		if len(value) > 0 {
			r.dataPos = cap(r.buf) - cap(value)
			r.dataEnd = r.dataPos + len(value)
		}
		return nil
	}
	if r.lines == 2 {
		r.joined = append(r.joined, r.buf[r.dataPos:r.dataEnd]...)
	}
	if len(r.joined)+1+len(value) > r.maxLine {
		return fmt.Errorf("%w: the data of one event exceeds %d bytes", ErrTooLong, r.maxLine)
	}
	r.joined = append(append(r.joined, '\n'), value...)
	return nil
}

// line returns the next line without its line end. A last line without a line end is returned before io.EOF.
func (r *Reader) line() ([]byte, error) {
	for {
		if r.ready() {
			n := lineEnd(r.buf[r.scan:])
			end := r.scan + n
			if n < 0 {
				end = len(r.buf)
			}
			line := r.buf[r.pos:end]
			r.scan = end
			if n >= 0 {
				r.skipLF = r.buf[end] == '\r'
				r.pos, r.scan = end+1, end+1
				r.dropLF() // skip a buffered LF now, because it would be parsed as the start of the next line
			}
			if len(line) > r.maxLine {
				return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLong, r.maxLine)
			}
			if n >= 0 {
				return line, nil
			}
		}
		err := r.fill()
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) && r.pos < len(r.buf) {
			r.started = true // an incomplete byte order mark at the end of the stream is data
			line := r.buf[r.pos:]
			r.pos, r.scan = len(r.buf), len(r.buf)
			return line, nil
		}
		return nil, err
	}
}

// ready skips the byte order mark and the LF of a CRLF before a line. It returns false when more bytes are needed.
func (r *Reader) ready() bool {
	if !r.started {
		if len(r.buf) < len(byteOrderMark) && bytes.HasPrefix(byteOrderMark, r.buf) {
			return false
		}
		if bytes.HasPrefix(r.buf, byteOrderMark) {
			r.pos, r.scan = len(byteOrderMark), len(byteOrderMark)
		}
		r.started = true
	}
	r.dropLF()
	return true
}

// dropLF skips the LF after a CR, if it has arrived.
func (r *Reader) dropLF() {
	if r.skipLF && r.pos < len(r.buf) {
		if r.buf[r.pos] == '\n' {
			r.pos++
			r.scan = max(r.scan, r.pos)
		}
		r.skipLF = false
	}
}

// lineEnd returns the index of the first CR or LF, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// fill reads more bytes into buf. If buf is full, it first makes space with grow.
func (r *Reader) fill() error {
	if r.err != nil {
		return r.err
	}
	if r.pos == len(r.buf) && r.lines == 0 { // all events were returned, so the buffer can be filled from its start
		r.buf, r.pos, r.scan = r.buf[:0], 0, 0
	}
	if len(r.buf) == cap(r.buf) {
		r.grow()
	}
	for range 100 {
		n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		r.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	r.err = io.ErrNoProgress
	return r.err
}

// grow makes space for the next read. It moves the unread bytes to the start of the buffer, or to a larger buffer if
// more than half of the buffer is unread.
func (r *Reader) grow() {
	from := r.pos
	if r.lines == 1 {
		from = min(from, r.dataPos)
	}
	size := cap(r.buf)
	if need := len(r.buf) - from; need > size/2 || size == 0 {
		size = max(firstBuffer, 2*size)
	}
	if size == cap(r.buf) {
		r.buf = r.buf[:copy(r.buf, r.buf[from:])]
	} else {
		r.buf = append(make([]byte, 0, size), r.buf[from:]...)
	}
	r.pos -= from
	r.scan -= from
	r.dataPos -= from
	r.dataEnd -= from
}
