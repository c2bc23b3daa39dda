package sse

import "io"

// WriteData writes payload as one event. Each line end in payload (CR, LF or CRLF) starts another data line. Readers
// join the lines with LF.
func WriteData(w io.Writer, payload []byte) error {
	for {
		n := lineEnd(payload)
		if n < 0 {
			break
		}
		if err := writeLine(w, payload[:n], "\n"); err != nil {
			return err
		}
		if payload[n] == '\r' && n+1 < len(payload) && payload[n+1] == '\n' {
			n++
		}
		payload = payload[n+1:]
	}
	return writeLine(w, payload, "\n\n")
}

// WriteEvent writes payload as one event with a name. An empty name is omitted.
func WriteEvent(w io.Writer, name string, payload []byte) error {
	if name != "" {
		for _, part := range [...]string{"event: ", name, "\n"} { // concatenating the strings would allocate
			if _, err := io.WriteString(w, part); err != nil {
				return err
			}
		}
	}
	return WriteData(w, payload)
}

// writeLine writes one data line, followed by end.
func writeLine(w io.Writer, line []byte, end string) error {
	if _, err := io.WriteString(w, "data: "); err != nil {
		return err
	}
	if _, err := w.Write(line); err != nil {
		return err
	}
	_, err := io.WriteString(w, end)
	return err
}
