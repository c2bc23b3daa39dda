package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"
)

// hostile contains characters that could start a second line, control a terminal or mislead a reader.
const hostile = "a\r\nlevel=ERROR msg=forged\x1b[2J\x00\x7f\u009b31m\u2028\u202e\u2066\ufeff\xff\"\\end"

type hostileError struct{}

func (hostileError) Error() string { return hostile }

func TestRecordIsOneEscapedLine(t *testing.T) {
	t.Parallel()
	for name, json := range map[string]bool{"json": true, "text": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			logger := NewLogger(&b, json, slog.LevelInfo)
			logger.With("with\r\n"+hostile, hostile).WithGroup("group\n").Info(hostile,
				"text", hostile, "error", hostileError{}, "key\nforged=1 \x1b[0m", 1, "any", map[string]string{hostile: hostile}, "bytes", []byte(hostile))
			checkLine(t, b.Bytes())
		})
	}
}

func checkLine(t *testing.T, line []byte) {
	t.Helper()
	body, ok := bytes.CutSuffix(line, []byte("\n"))
	if !ok || !utf8.Valid(body) {
		t.Fatalf("%q is not one line of UTF-8", line)
	}
	for _, r := range string(body) {
		if dangerous(r) {
			t.Errorf("unescaped %U in %q", r, line)
		}
	}
}

func TestSecretAttributesAreMasked(t *testing.T) {
	t.Parallel()
	for _, json := range []bool{true, false} {
		var b bytes.Buffer
		logger := NewLogger(&b, json, slog.LevelInfo).With("Authorization", "canary")
		logger.Info("call", "api_key", "canary", slog.Group("provider", "password", "canary"), "token", errors.New("canary"), "name", "visible", "cookie", "")
		if strings.Contains(b.String(), "canary") || strings.Count(b.String(), "[secret]") != 4 || !strings.Contains(b.String(), "visible") {
			t.Errorf("wrote %s, want four masked values and no secret", b.String())
		}
	}
}

type brokenPipe struct{}

var errPipe = errors.New("broken pipe")

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }

func TestLineWriterReportsErrors(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"plain\n", "with \x00\n"} {
		if n, err := (&lineWriter{w: brokenPipe{}}).Write([]byte(line)); n != 0 || !errors.Is(err, errPipe) {
			t.Errorf("Write(%q) = %d, %v; want 0 and the error of the writer", line, n, err)
		}
	}
}

func FuzzLogLine(f *testing.F) {
	f.Add(hostile, hostile)
	f.Add("key", "value")
	f.Fuzz(func(t *testing.T, key, value string) {
		for _, asJSON := range []bool{true, false} {
			var b bytes.Buffer
			NewLogger(&b, asJSON, slog.LevelInfo).Info(value, key, value)
			checkLine(t, b.Bytes())
			if asJSON && !json.Valid(b.Bytes()) {
				t.Fatalf("%q is not JSON", b.String())
			}
		}
	})
}
