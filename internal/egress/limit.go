package egress

import (
	"errors"
	"io"

	"fairlead/internal/llm"
)

// Limit returns body cut off after limit bytes: reading beyond is an *llm.Error of kind UpstreamMalformed.
// An answer of exactly limit bytes is read whole. Closing closes body.
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
	// One byte more than allowed tells an answer that ends here from one that goes on.
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
	return llm.Errorf(llm.UpstreamMalformed, "The provider's answer is longer than the %d bytes allowed.", l.limit)
}
