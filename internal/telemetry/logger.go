// Package telemetry writes log lines and exports metrics. Both are computed from the log entry of a request, so that log line,
// metrics and dashboard row always agree.
package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// NewLogger returns a logger that writes one line per record, as JSON or as text. Control characters in values are escaped, and attributes
// whose names indicate secrets are masked.
func NewLogger(w io.Writer, json bool, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch strings.ToLower(a.Key) {
		case "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-goog-api-key",
			"api_key", "api_keys", "apikey", "password", "secret", "token", "credential", "master_key":
			if a.Value.String() != "" {
				return slog.String(a.Key, "[secret]")
			}
		}
		return a
	}}
	lines := &lineWriter{w: w}
	if json {
		return slog.New(slog.NewJSONHandler(lines, options))
	}
	return slog.New(slog.NewTextHandler(lines, options))
}

// ParseLevel parses debug, info, warn or error.
func ParseLevel(name string) (slog.Level, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(name)); err != nil {
		return 0, fmt.Errorf("parse log level %q: %w", name, err)
	}
	return level, nil
}

// lineWriter escapes control characters that the handler does not escape. The handler calls Write once per record and never
// concurrently.
type lineWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lineWriter) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	body := line
	if n := len(body); n > 0 && body[n-1] == '\n' {
		body = body[:n-1]
	}
	if slices.ContainsFunc(body, func(b byte) bool { return b < ' ' || b >= 0x7f }) {
		escaped := append(escape(make([]byte, 0, len(line)+64), body), '\n')
		if _, err := l.w.Write(escaped); err != nil {
			return 0, err
		}
		return len(line), nil
	}
	return l.w.Write(line)
}

// escape encodes control characters as \u00xx, which is valid in JSON strings and in quoted text.
func escape(to, line []byte) []byte {
	for len(line) > 0 {
		r, size := utf8.DecodeRune(line)
		switch {
		case r == utf8.RuneError && size <= 1:
			to = append(to, `\ufffd`...)
		case dangerous(r):
			to = fmt.Appendf(to, `\u%04x`, r)
		default:
			to = append(to, line[:size]...)
		}
		line = line[size:]
	}
	return to
}

// dangerous reports whether a terminal or a log viewer may interpret the character: C0 and C1 controls, line and paragraph
// separators, and characters that change the direction of text.
func dangerous(r rune) bool {
	return r < ' ' || (r >= 0x7f && r <= 0x9f) || r == 0x2028 || r == 0x2029 || r == 0x200e || r == 0x200f ||
		(r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069) || r == 0xfeff
}
