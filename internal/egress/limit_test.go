package egress

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"fairlead.dev/internal/llm"
)

func TestLimit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body, want string
		limit            int64
		exceeded         bool
	}{
		{"shorter", "abc", "abc", 4, false},
		{"exact", "abcd", "abcd", 4, false},
		{"longer", "abcde", "abcd", 4, true},
		{"much longer", strings.Repeat("x", 5000), "xxxx", 4, true},
		{"empty", "", "", 0, false},
		{"nothing allowed", "a", "", 0, true},
	}
	readers := map[string]func(io.Reader) io.Reader{
		"whole":           func(r io.Reader) io.Reader { return r },
		"byte by byte":    iotest.OneByteReader,
		"data with error": iotest.DataErrReader,
	}
	for _, tt := range tests {
		for how, wrap := range readers {
			t.Run(tt.name+" "+how, func(t *testing.T) {
				t.Parallel()
				got, err := io.ReadAll(Limit(io.NopCloser(wrap(strings.NewReader(tt.body))), tt.limit))
				if string(got) != tt.want {
					t.Errorf("read %q, want %q", got, tt.want)
				}
				e, ok := errors.AsType[*llm.Error](err)
				if ok != tt.exceeded || (ok && e.Kind != llm.UpstreamMalformed) {
					t.Errorf("error = %v, want exceeded %v", err, tt.exceeded)
				}
			})
		}
	}
}

func TestLimitPassesErrorsAndCloses(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	body := &closeSpy{Reader: iotest.ErrReader(broken)}
	limited := Limit(body, 10)
	if _, err := limited.Read(make([]byte, 4)); !errors.Is(err, broken) {
		t.Errorf("error = %v, want %v", err, broken)
	}
	if err := limited.Close(); err != nil || !body.closed {
		t.Errorf("closed = %v, error %v", body.closed, err)
	}
}

type closeSpy struct {
	io.Reader
	closed bool
}

func (c *closeSpy) Close() error { c.closed = true; return nil }
