package harness

import (
	"strings"
	"sync"
)

// logBook collects the lines of a process.
type logBook struct {
	mu    sync.Mutex
	lines []string
}

func (b *logBook) add(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, line)
}

func (b *logBook) text() string { return b.tail(-1) }

// tail returns the last n lines; all of them when n is negative.
func (b *logBook) tail(n int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := b.lines
	if n >= 0 && len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}
