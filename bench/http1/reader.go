// Package http1 reads HTTP/1.1 messages with little overhead (no header map, no copies), so that the load
// generator and the upstream cost less than the server between them. It does not validate its input and is for loopback connections
// only.
package http1

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Reader reads the messages of one connection: call Head, then Part until the body ends, then the next Head.
type Reader struct {
	in      *bufio.Reader
	left    int64 // bytes left in the body or the current chunk
	chunked bool
	began   bool // whether a chunk was read, but not the line break after it
}

// NewReader returns a reader for a connection. buffer limits the length of a header line and of a part.
func NewReader(from io.Reader, buffer int) *Reader {
	return &Reader{in: bufio.NewReaderSize(from, buffer)}
}

// Reset makes the reader read from another connection.
func (r *Reader) Reset(from io.Reader) { r.in.Reset(from) }

// Head reads a message up to its body. It returns the status of a response (0 for a request) and whether the connection ends with
// this message. It returns io.EOF at the end of the connection.
func (r *Reader) Head() (status int, last bool, err error) {
	line, err := r.in.ReadSlice('\n')
	if err != nil {
		return 0, false, err
	}
	if bytes.HasPrefix(line, []byte("HTTP/")) {
		status = statusOf(line)
	}
	r.left, r.chunked, r.began = 0, false, false
	for {
		line, err := r.line()
		if err != nil || len(line) == 0 {
			if r.chunked {
				r.left = 0 // Content-Length is ignored if the body is chunked
			}
			return status, last, err
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if r.left, err = number(value, 10); err != nil {
				return 0, false, err
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			r.chunked = bytes.EqualFold(value, []byte("chunked"))
		case bytes.EqualFold(name, []byte("Connection")):
			last = bytes.EqualFold(value, []byte("close"))
		}
	}
}

func statusOf(line []byte) int {
	_, rest, _ := bytes.Cut(line, []byte(" "))
	code, _, _ := bytes.Cut(rest, []byte(" "))
	n, _ := strconv.Atoi(string(bytes.TrimSpace(code))) // 0 is not a success status
	return n
}

// Part returns the next part of the body, without chunk framing. It is valid until the next call. It returns io.EOF at the
// end of the body.
func (r *Reader) Part() ([]byte, error) {
	if r.left == 0 {
		if err := r.chunk(); err != nil {
			return nil, err
		}
	}
	if _, err := r.in.Peek(1); err != nil {
		return nil, cut(err)
	}
	part, _ := r.in.Peek(int(min(r.left, int64(r.in.Buffered()))))
	r.left -= int64(len(part))
	_, _ = r.in.Discard(len(part)) // the bytes are buffered
	return part, nil
}

// chunk reads the header of the next chunk. It returns io.EOF after the last chunk.
func (r *Reader) chunk() error {
	if !r.chunked {
		return io.EOF
	}
	if r.began {
		if line, err := r.line(); err != nil || len(line) > 0 {
			return errors.Join(err, errors.New("a chunk is longer than declared"))
		}
	}
	line, err := r.line()
	if err != nil {
		return err
	}
	size, _, _ := bytes.Cut(line, []byte(";"))
	if r.left, err = number(bytes.TrimSpace(size), 16); err != nil {
		return err
	}
	r.began = true
	for r.left == 0 { // trailers and an empty line follow the last chunk
		if line, err = r.line(); err != nil {
			return err
		}
		if len(line) == 0 {
			r.chunked = false
			return io.EOF
		}
	}
	return nil
}

// line reads a line within a message. It returns io.ErrUnexpectedEOF if the connection ends there.
func (r *Reader) line() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	return bytes.TrimRight(line, "\r\n"), cut(err)
}

func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func number(text []byte, base int) (int64, error) {
	n, err := strconv.ParseUint(string(text), base, 62)
	if err != nil {
		return 0, fmt.Errorf("length %q: %w", text, err)
	}
	return int64(n), nil
}
