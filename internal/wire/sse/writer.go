package sse

import "io"

var (
	dataField = []byte("data: ")
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

func write(w io.Writer, parts ...[]byte) error {
	for _, part := range parts {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}
