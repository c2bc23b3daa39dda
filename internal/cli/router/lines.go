package router

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"
)

const (
	largestLine = 64 << 20
	batchLines  = 64
)

// batch is a group of lines for one goroutine.
type batch struct {
	first int // number of the first line
	lines [][]byte
	done  chan struct{} // channel that is closed when the work is done
	out   []byte
	err   error
}

// lineError is an error with its line number.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// eachLine calls work for every line that is not blank, on all cores, and passes the results to write in the order of the lines.
// It stops at the first invalid line, after writing the results before it. Only a few batches are in memory.
func eachLine(ctx context.Context, in io.Reader, work func(line, out []byte) ([]byte, error), write func([]byte) error) error {
	workers := runtime.GOMAXPROCS(0)
	todo := make(chan *batch)
	order := make(chan *batch, 2*workers)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(todo)
		defer close(order)
		return readBatches(ctx, in, func(b *batch) error {
			for _, queue := range []chan *batch{order, todo} {
				select {
				case queue <- b:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
	})
	for range workers {
		g.Go(func() error {
			for b := range todo {
				b.work(work)
			}
			return nil
		})
	}
	g.Go(func() error { return writeBatches(ctx, order, write) })
	return g.Wait()
}

func (b *batch) work(work func(line, out []byte) ([]byte, error)) {
	defer close(b.done)
	for i, line := range b.lines {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		out, err := work(line, b.out)
		if err != nil {
			b.err = &lineError{b.first + i, err}
			return
		}
		b.out = out
	}
}

func writeBatches(ctx context.Context, order <-chan *batch, write func([]byte) error) error {
	for b := range order {
		select {
		case <-b.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := write(b.out); err != nil {
			return err
		}
		if b.err != nil {
			return b.err
		}
	}
	return nil
}

// readBatches splits the input into batches of lines. A read error is reported after the lines before it.
func readBatches(ctx context.Context, in io.Reader, send func(*batch) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), largestLine)
	next := &batch{first: 1, done: make(chan struct{})}
	number := 0
	for ctx.Err() == nil && lines.Scan() {
		number++
		next.lines = append(next.lines, bytes.Clone(lines.Bytes()))
		if len(next.lines) < batchLines {
			continue
		}
		if err := send(next); err != nil {
			return err
		}
		next = &batch{first: number + 1, done: make(chan struct{})}
	}
	if err := send(next); err != nil {
		return err
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return &lineError{number + 1, fmt.Errorf("longer than %d MiB", largestLine>>20)}
		}
		return fmt.Errorf("read line %d: %w", number+1, err)
	}
	return ctx.Err()
}
