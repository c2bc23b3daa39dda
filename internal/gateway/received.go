package gateway

import (
	"io"

	"fairlead/internal/llm"
)

// received is the body of an answer, whose bytes are counted as they come.
type received struct {
	from  io.ReadCloser
	bytes int64
}

func (r *received) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.bytes += int64(n)
	return n, err
}

// Wait returns when there is something to read, or an end.
func (r *received) Wait() {
	if from, ok := r.from.(llm.Waiter); ok {
		from.Wait()
	}
}

func (r *received) Close() error { return r.from.Close() }
