// Package h1 reads HTTP/1.1 messages off a connection with almost no cost per
// message, so that the mock upstream and the load generator stay far cheaper
// than the proxy between them. It covers what those two need and no more.
package h1

import (
	"bytes"
	"errors"
	"io"
	"strconv"
)

// MaxHead bounds the first line and header fields together.
const MaxHead = 64 << 10

// What a message can have wrong with it.
var (
	ErrHeadTooLarge = errors.New("message head too large")
	ErrMalformed    = errors.New("malformed message")
)

// Head is the start of a message. Its slices are valid until the next read.
type Head struct {
	Line          []byte // request line or status line, without CRLF
	Fields        []byte // raw header fields, each ending in CRLF
	ContentLength int64  // -1 when the message carries none
	Chunked       bool
	Close         bool
}

// Status parses the code of a status line, 0 when it is none.
func (h *Head) Status() int {
	if len(h.Line) < 12 || !bytes.HasPrefix(h.Line, []byte("HTTP/1.")) {
		return 0
	}
	n, err := strconv.Atoi(string(h.Line[9:12]))
	if err != nil {
		return 0
	}
	return n
}

// Path is the target of a request line.
func (h *Head) Path() []byte {
	_, rest, _ := bytes.Cut(h.Line, []byte(" "))
	path, _, _ := bytes.Cut(rest, []byte(" "))
	return path
}

// Field returns the value of a header field, nil when absent.
func (h *Head) Field(name string) []byte {
	for rest := h.Fields; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		if k, v, ok := bytes.Cut(line, []byte(":")); ok && equalFold(k, name) {
			return bytes.TrimSpace(v)
		}
	}
	return nil
}

func equalFold(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i := range b {
		if b[i]|0x20 != s[i]|0x20 {
			return false
		}
	}
	return true
}

// Reader reads messages from one connection.
type Reader struct {
	src  io.Reader
	buf  []byte
	r, w int
	head Head
}

// NewReader starts with a buffer of the given size and grows it for large heads.
func NewReader(src io.Reader, size int) *Reader {
	return &Reader{src: src, buf: make([]byte, size)}
}

// Reset points the reader at a new connection.
func (r *Reader) Reset(src io.Reader) { r.src, r.r, r.w = src, 0, 0 }

func (r *Reader) fill() error {
	if r.r == r.w {
		r.r, r.w = 0, 0
	} else if r.w == len(r.buf) {
		if r.r > 0 {
			r.w = copy(r.buf, r.buf[r.r:r.w])
			r.r = 0
		} else {
			r.buf = append(r.buf, make([]byte, len(r.buf))...)
		}
	}
	n, err := r.src.Read(r.buf[r.w:])
	r.w += n
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// ReadHead reads up to and including the blank line. io.EOF means the peer
// closed between messages.
func (r *Reader) ReadHead() (*Head, error) {
	scanned := 0
	for {
		if i := bytes.Index(r.buf[r.r+scanned:r.w], []byte("\r\n\r\n")); i >= 0 {
			end := r.r + scanned + i
			raw := r.buf[r.r : end+2]
			r.r = end + 4
			return r.parse(raw)
		}
		if r.w-r.r > MaxHead {
			return nil, ErrHeadTooLarge
		}
		scanned = max(0, r.w-r.r-3)
		if err := r.fill(); err != nil {
			if errors.Is(err, io.EOF) && r.w > r.r {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

func (r *Reader) parse(raw []byte) (*Head, error) {
	h := &r.head
	*h = Head{ContentLength: -1}
	var ok bool
	if h.Line, h.Fields, ok = bytes.Cut(raw, []byte("\r\n")); !ok {
		return nil, ErrMalformed
	}
	for rest := h.Fields; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		colon := bytes.IndexByte(line, ':')
		if colon <= 0 {
			return nil, ErrMalformed
		}
		k := line[:colon]
		switch {
		case len(k) == 14 && equalFold(k, "content-length"):
			n, err := strconv.ParseInt(string(bytes.TrimSpace(line[colon+1:])), 10, 64)
			if err != nil || n < 0 {
				return nil, ErrMalformed
			}
			h.ContentLength = n
		case len(k) == 17 && equalFold(k, "transfer-encoding"):
			h.Chunked = bytes.Contains(bytes.ToLower(line[colon+1:]), []byte("chunked"))
		case len(k) == 10 && equalFold(k, "connection"):
			h.Close = bytes.Contains(bytes.ToLower(line[colon+1:]), []byte("close"))
		}
	}
	return h, nil
}

// ReadBody hands the body to each as it arrives, with any chunk framing
// removed. untilEOF says that a body with no length runs until the connection
// closes (a response), rather than being empty (a request).
func (r *Reader) ReadBody(h *Head, untilEOF bool, each func([]byte) error) error {
	switch {
	case h.Chunked:
		return r.readChunked(each)
	case h.ContentLength >= 0:
		return r.readN(h.ContentLength, each)
	case !untilEOF:
		return nil
	}
	for {
		if r.r == r.w {
			if err := r.fill(); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		}
		if err := r.emit(r.w-r.r, each); err != nil {
			return err
		}
	}
}

func (r *Reader) emit(n int, each func([]byte) error) error {
	part := r.buf[r.r : r.r+n]
	r.r += n
	return each(part)
}

// maxBuffer is what a reader grows to for a body that is larger than its buffer.
const maxBuffer = 256 << 10

func (r *Reader) readN(n int64, each func([]byte) error) error {
	for n > 0 {
		if r.r == r.w {
			if want := min(n, maxBuffer); want > int64(len(r.buf)) {
				r.buf = make([]byte, want)
			}
			if err := r.fill(); err != nil {
				return noEOF(err)
			}
		}
		k := min(int64(r.w-r.r), n)
		if err := r.emit(int(k), each); err != nil {
			return err
		}
		n -= k
	}
	return nil
}

func (r *Reader) readChunked(each func([]byte) error) error {
	for {
		line, err := r.readLine()
		if err != nil {
			return err
		}
		size, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseInt(string(bytes.TrimSpace(size)), 16, 64)
		if err != nil || n < 0 {
			return ErrMalformed
		}
		if n == 0 {
			for { // trailers
				if line, err = r.readLine(); err != nil || len(line) == 0 {
					return err
				}
			}
		}
		if err := r.readN(n, each); err != nil {
			return err
		}
		if line, err = r.readLine(); err != nil {
			return err
		} else if len(line) != 0 {
			return ErrMalformed
		}
	}
}

func (r *Reader) readLine() ([]byte, error) {
	for {
		if i := bytes.IndexByte(r.buf[r.r:r.w], '\n'); i >= 0 {
			line := r.buf[r.r : r.r+i]
			r.r += i + 1
			return bytes.TrimSuffix(line, []byte("\r")), nil
		}
		if r.w-r.r > MaxHead {
			return nil, ErrMalformed
		}
		if err := r.fill(); err != nil {
			return nil, noEOF(err)
		}
	}
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
