package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"fairlead/internal/admin/api"
)

// console is where a command reads and writes.
type console struct {
	in       io.Reader
	out      io.Writer // results
	err      io.Writer // narration, progress, warnings
	terminal bool      // people read out
	asks     bool      // people can be asked: in and err are terminals
	progress bool      // people watch err
	width    func() int
	zone     *time.Location
	env      []string

	now    func() time.Time
	secret func(context.Context) (string, error) // reads a line that is not shown
}

func newConsole() *console {
	out, errs := term.IsTerminal(int(os.Stdout.Fd())), term.IsTerminal(int(os.Stderr.Fd()))
	return &console{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Environ(),
		terminal: out, progress: errs, asks: errs && term.IsTerminal(int(os.Stdin.Fd())),
		width: terminalWidth, zone: time.Local, now: time.Now,
		secret: func(ctx context.Context) (string, error) { return readSecret(ctx, int(os.Stdin.Fd())) },
	}
}

// terminalWidth is how wide the terminal is; 0 where there is none.
func terminalWidth() int {
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// readSecret reads a line without showing it. The terminal shows what is typed again, also when the reading is broken off.
func readSecret(ctx context.Context, fd int) (string, error) {
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("read the terminal's settings: %w", err)
	}
	text, err := awaiting(ctx, func() (string, error) {
		line, err := term.ReadPassword(fd)
		return string(line), err
	})
	if ctx.Err() != nil {
		_ = term.Restore(fd, before) // the read that would do it goes on until the process ends
	}
	return text, err
}

// awaiting runs a read that nothing but its own end can stop, and leaves it alone when ctx ends first: the process is
// about to end then.
func awaiting(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := read()
		done <- result{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r := <-done:
		return r.text, r.err
	}
}

// maxLine bounds a line that is read.
const maxLine = 8 << 10

// readLine reads one line without its end.
func (c *console) readLine(ctx context.Context) (string, error) {
	return awaiting(ctx, func() (string, error) {
		line, err := bufio.NewReader(io.LimitReader(c.in, maxLine)).ReadString('\n')
		if errors.Is(err, io.EOF) && line != "" {
			err = nil // the last line needs no end
		}
		if err != nil {
			return "", fmt.Errorf("read a line: %w", err)
		}
		return strings.TrimRight(line, "\r\n"), nil
	})
}

// confirm asks a question that must be answered with yes. Without a terminal it returns a usage error unless --yes was given.
func (c *console) confirm(ctx context.Context, o *options, question string) (bool, error) {
	if o.yes {
		return true, nil
	}
	if !c.asks {
		return false, usage("repeat the command with --yes", "cannot ask for confirmation, because this is not a terminal: %s", question)
	}
	fmt.Fprintf(c.err, "%s [y/N] ", question)
	answer, err := c.readLine(ctx)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

// write puts a result out.
func (c *console) write(text string) error {
	if _, err := io.WriteString(c.out, text); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// writeJSON puts one object on a line.
func (c *console) writeJSON(v any) error {
	line, err := api.Encode(v)
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	return c.write(string(line) + "\n")
}

// writeTable writes a table within the width of the terminal, and reports the columns that do not fit.
func (c *console) writeTable(o *options, t *table) error {
	width := c.columns()
	if err := c.write(strings.Join(t.lines(width, c.coloured(o)), "\n") + "\n"); err != nil {
		return err
	}
	if hidden := t.hidden(width); len(hidden) > 0 {
		c.say(o, "hidden at this width: %s; use a wider terminal or --json", strings.Join(hidden, ", "))
	}
	return nil
}

// columns is how wide results may be; 0 for any width.
func (c *console) columns() int {
	if !c.terminal || c.width == nil {
		return 0
	}
	return c.width()
}

// coloured reports whether results are painted.
func (c *console) coloured(o *options) bool {
	return c.terminal && !o.noColor && c.getenv("NO_COLOR") == "" && c.getenv("TERM") != "dumb"
}

// say tells what is going on, unless nobody wants to know.
func (c *console) say(o *options, format string, args ...any) {
	if !o.quiet {
		fmt.Fprintf(c.err, format+"\n", args...)
	}
}

// getenv looks a variable up; the last of several counts.
func (c *console) getenv(name string) string {
	value := ""
	for _, pair := range c.env {
		if key, v, found := strings.Cut(pair, "="); found && key == name {
			value = v
		}
	}
	return value
}

// at writes a moment in the zone of the reader; the zero time is a dash.
func (c *console) at(o *options, t time.Time, layout string) string {
	if t.IsZero() {
		return unknown
	}
	if o.utc || c.zone == nil {
		return t.UTC().Format(layout)
	}
	return t.In(c.zone).Format(layout)
}
