// Package upstream reads the bodies of provider responses.
package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"

	"fairlead/internal/llm"
	"fairlead/internal/wire/sse"
)

// firstRead is the size of the buffer for a response of unknown length.
const firstRead = 4 << 10

// ReadAll reads a response of at most limit bytes. It uses buf, which is empty, as long as its capacity suffices. hint is the Content-Length,
// if known. The buffer doubles up to the limit, so that all buffers together take at most about twice the limit.
func ReadAll(r io.Reader, buf []byte, limit, hint int64) ([]byte, error) {
	size := int64(firstRead)
	if hint > 0 && hint <= limit {
		size = hint + 1 // capacity to detect the end without growing
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

// Failure returns the error of a response that could not be read. Context errors and *llm.Error values stay as they are; any other error is
// a broken connection.
func Failure(err error) error {
	_, classified := errors.AsType[*llm.Error](err)
	switch {
	case errors.Is(err, sse.ErrTooLong):
		return &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider sent a line longer than allowed.", Err: err}
	case classified, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("read response: %w", err)
	}
	return &llm.Error{Kind: llm.StreamInterrupted, Message: "The connection to the provider broke before the response was complete.", Err: err}
}
