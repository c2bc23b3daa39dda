package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/sse"
)

func TestReadAllReturnsTheWholeResponse(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, firstRead - 1, firstRead, firstRead + 1, 100_000} {
		want := bytes.Repeat([]byte("x"), size)
		for _, hint := range []int64{-1, 0, int64(size), 1, 1 << 40} {
			for _, buf := range [][]byte{nil, make([]byte, 0, 10), make([]byte, 0, 200_000)} {
				got, err := ReadAll(iotest.HalfReader(bytes.NewReader(want)), buf, 100_000, hint)
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("size %d, hint %d, capacity %d: got %d bytes, error %v", size, hint, cap(buf), len(got), err)
				}
			}
		}
	}
}

func TestReadAllReportsALargeResponse(t *testing.T) {
	t.Parallel()
	for _, hint := range []int64{0, 100, 101} {
		_, err := ReadAll(strings.NewReader(strings.Repeat("x", 101)), nil, 100, hint)
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.UpstreamMalformed || !strings.Contains(e.Message, "larger than 100 bytes") {
			t.Errorf("hint %d: %v, want UpstreamMalformed with the limit", hint, err)
		}
	}
}

// An endless response must not use much more memory than its limit allows.
func TestReadAllAllocatesAtMostTwiceTheLimit(t *testing.T) {
	const limit = 8 << 20
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ReadAll(endless{}, nil, limit, 0); err == nil {
				b.Fatal("ReadAll of an endless response returned no error")
			}
		}
	})
	if got := result.AllocedBytesPerOp(); got > 2*limit+limit/8 {
		t.Errorf("%d bytes allocated for a limit of %d, want at most twice the limit", got, limit)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestFailureDistinguishesBrokenConnections(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want llm.Kind // expected kind; empty if the result is not an *llm.Error
	}{
		"connection":   {io.ErrUnexpectedEOF, llm.StreamInterrupted},
		"long line":    {sse.ErrTooLong, llm.UpstreamMalformed},
		"cancellation": {context.Canceled, ""},
		"deadline":     {context.DeadlineExceeded, ""},
		"classified":   {llm.Errorf(llm.UpstreamServer, "The provider failed."), llm.UpstreamServer},
	} {
		got := Failure(tc.err)
		e, _ := errors.AsType[*llm.Error](got)
		if !errors.Is(got, tc.err) || (e == nil) != (tc.want == "") || e != nil && e.Kind != tc.want {
			t.Errorf("%s: %v, want %v of kind %q", name, got, tc.err, tc.want)
		}
	}
}
