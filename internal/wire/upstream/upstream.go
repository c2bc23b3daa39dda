// Package upstream reads the bodies of provider responses.
package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/sse"
)

// firstRead is the initial buffer size for a response of unknown length.
const firstRead = 4 << 10

// ReadAll reads a response of at most limit bytes into buf, or into a larger buffer if the capacity of buf is too small. buf must be
// empty. hint is the Content-Length, if known. The size of the buffer doubles until it reaches the limit, so the allocations total at
// most about twice the limit.
func ReadAll(r io.Reader, buf []byte, limit, hint int64) ([]byte, error) {
	size := int64(firstRead)
	if hint > 0 && hint <= limit {
		size = hint + 1 // one byte more than the response, to detect its end without growing the buffer
	}
	if int64(cap(buf)) < size {
		buf = make([]byte, 0, size)
	}
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return nil, llm.Errorf(llm.UpstreamMalformed, "The provider's response is larger than %d bytes.", limit)
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return nil, Failure(err)
		case len(buf) == cap(buf):
			size = 2 * int64(cap(buf))
			if size >= limit {
				size = limit + 1
			}
			larger := make([]byte, len(buf), size)
			copy(larger, buf)
			buf = larger
		}
	}
}

// Failure classifies an error from reading a response. The returned error wraps err. It keeps context errors and *llm.Error values,
// reports sse.ErrTooLong as a malformed response, and reports any other error as a broken connection.
func Failure(err error) error {
	_, classified := errors.AsType[*llm.Error](err)
	switch {
	case errors.Is(err, sse.ErrTooLong):
		return &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider sent a line that is longer than the limit.", Err: err}
	case classified, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("read response: %w", err)
	}
	return &llm.Error{Kind: llm.StreamInterrupted, Message: "The connection to the provider broke before the response was complete.", Err: err}
}
