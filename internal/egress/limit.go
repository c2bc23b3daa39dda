package egress

import (
	"errors"
	"io"

	"fairlead.dev/internal/llm"
)

// Limit returns a body that can be read up to limit bytes. Reading more returns an *llm.Error of kind UpstreamMalformed. A
// response of exactly limit bytes is complete. Close closes body.
func Limit(body io.ReadCloser, limit int64) io.ReadCloser {
	return &limited{body: body, left: limit, limit: limit}
}

type limited struct {
	body        io.ReadCloser
	left, limit int64
}

func (l *limited) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if l.left < 0 {
		return 0, l.exceeded()
	}
	// Read one byte more than the limit, to detect whether the response is longer.
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.body.Read(p)
	if int64(n) <= l.left {
		l.left -= int64(n)
		return n, err
	}
	n = int(l.left)
	l.left = -1
	if err != nil && !errors.Is(err, io.EOF) {
		return n, err
	}
	return n, l.exceeded()
}

func (l *limited) Close() error { return l.body.Close() }

func (l *limited) exceeded() error {
	return llm.Errorf(llm.UpstreamMalformed, "The provider's response is longer than the limit of %d bytes.", l.limit)
}
