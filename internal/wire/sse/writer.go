package sse

import (
	"bytes"
	"io"
)

var (
	dataField = []byte("data: ")
	comment   = []byte(": ")
	lineFeed  = []byte("\n")
	eventEnd  = []byte("\n\n")
)

// WriteData frames payload as one event. Line ends inside it (CR, LF or CRLF) start further data lines, which readers
// join again with LF.
func WriteData(w io.Writer, payload []byte) error {
	for {
		n := lineEnd(payload)
		if n < 0 {
			break
		}
		if err := write(w, dataField, payload[:n], lineFeed); err != nil {
			return err
		}
		if payload[n] == '\r' && n+1 < len(payload) && payload[n+1] == '\n' {
			n++
		}
		payload = payload[n+1:]
	}
	return write(w, dataField, payload, eventEnd)
}

// WriteComment writes text as a comment, which keeps a silent connection alive and which readers ignore.
func WriteComment(w io.Writer, text string) error {
	for line := range bytes.FieldsFuncSeq([]byte(text), func(r rune) bool { return r == '\r' || r == '\n' }) {
		if err := write(w, comment, line, lineFeed); err != nil {
			return err
		}
	}
	return write(w, lineFeed)
}

func write(w io.Writer, parts ...[]byte) error {
	for _, part := range parts {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}
