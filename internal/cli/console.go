package cli

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

	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/wire/show"
)

// Console is the input and output of a command.
type Console struct {
	In       io.Reader
	Out      io.Writer // output for results
	Err      io.Writer // output for progress information and warnings
	Terminal bool      // whether Out is a terminal
	CanAsk   bool      // whether In and Err are terminals, so that questions can be asked
	progress bool      // whether Err is a terminal
	Width    func() int
	Zone     *time.Location
	Env      []string
	Version  string
	commit   string

	Now    func() time.Time
	Secret func(context.Context) (string, error) // reads a line without echo
}

// NewConsole returns a console that uses the standard streams.
func NewConsole(env []string, version, commit string) *Console {
	out, errs := term.IsTerminal(int(os.Stdout.Fd())), term.IsTerminal(int(os.Stderr.Fd()))
	return &Console{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: env, Version: version, commit: commit,
		Terminal: out, progress: errs, CanAsk: errs && term.IsTerminal(int(os.Stdin.Fd())),
		Width: func() int {
			width, _, err := term.GetSize(int(os.Stdout.Fd()))
			if err != nil {
				return 0 // the output is not a terminal
			}
			return width
		},
		Zone: time.Local, Now: time.Now,
		Secret: func(ctx context.Context) (string, error) { return readSecret(ctx, int(os.Stdin.Fd())) },
	}
}

// readSecret reads a line without echo. It restores the terminal even if reading is cancelled.
func readSecret(ctx context.Context, fd int) (string, error) {
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("read the terminal's settings: %w", err)
	}
	text, err := Awaiting(ctx, func() (string, error) {
		line, err := term.ReadPassword(fd)
		return string(line), err
	})
	if ctx.Err() != nil {
		_ = term.Restore(fd, before) // ReadPassword restores the terminal only when it returns, which may never happen
	}
	return text, err
}

// Awaiting calls read, which cannot be cancelled, and returns its result. If ctx is cancelled first, it returns without waiting
// for read, because the process is about to exit.
func Awaiting(ctx context.Context, read func() (string, error)) (string, error) {
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

// maxLine is the maximum length of an input line.
const maxLine = 8 << 10

// readLine reads one line without its line break.
func (c *Console) readLine(ctx context.Context) (string, error) {
	return Awaiting(ctx, func() (string, error) {
		line, err := bufio.NewReader(io.LimitReader(c.In, maxLine)).ReadString('\n')
		if errors.Is(err, io.EOF) && line != "" {
			err = nil // the last line may have no line break
		}
		if err != nil {
			return "", fmt.Errorf("read a line: %w", err)
		}
		return strings.TrimRight(line, "\r\n"), nil
	})
}

// Confirm asks a question and reports whether the answer is yes. Without a terminal it returns a usage error unless --yes was
// given.
func (c *Console) Confirm(ctx context.Context, o *Options, question string) (bool, error) {
	if o.yes {
		return true, nil
	}
	if !c.CanAsk {
		return false, Usagef("run the command again with --yes", "cannot ask for confirmation: this is not a terminal. %s", question)
	}
	fmt.Fprintf(c.Err, "%s [y/N] ", question)
	answer, err := c.readLine(ctx)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

// Print writes text to standard output.
func (c *Console) Print(text string) error {
	if _, err := io.WriteString(c.Out, text); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// PrintJSON writes v as one line of JSON.
func (c *Console) PrintJSON(v any) error {
	line, err := adminapi.Encode(v)
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	return c.Print(string(show.EscapeJSON(line)) + "\n")
}

// PrintList prints the JSON form of each element with --json, and otherwise a table to which addRow adds each element. If the list is
// empty, it prints the hint none instead of a table.
func PrintList[T, V any](c *Console, o *Options, list []T, none string, view func(*T) V, t *Table, addRow func(*T)) error {
	if o.JSON {
		for i := range list {
			if err := c.PrintJSON(view(&list[i])); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		c.Infof(o, "%s", none)
		return nil
	}
	for i := range list {
		addRow(&list[i])
	}
	return c.PrintTable(o, t)
}

// PrintTable writes a table that fits the width of the terminal. It reports hidden columns.
func (c *Console) PrintTable(o *Options, t *Table) error {
	width := c.Columns()
	if err := c.Print(strings.Join(t.Lines(width, c.Coloured(o)), "\n") + "\n"); err != nil {
		return err
	}
	var hidden []string
	for i, w := range t.Widths(width) {
		if w == hiddenColumn {
			hidden = append(hidden, t.Columns[i].Title)
		}
	}
	if len(hidden) > 0 {
		c.Infof(o, "hidden columns: %s. Use a wider terminal or --json", strings.Join(hidden, ", "))
	}
	return nil
}

// Columns returns the maximum width of results, or 0 for no limit.
func (c *Console) Columns() int {
	if !c.Terminal || c.Width == nil {
		return 0
	}
	return c.Width()
}

// PageWidth returns the width of the terminal, limited to the range from narrowest to widest.
func (c *Console) PageWidth(narrowest, widest int) int {
	width := c.Columns()
	if width == 0 {
		return widest
	}
	return max(narrowest, min(width, widest))
}

// Coloured reports whether results use colours.
func (c *Console) Coloured(o *Options) bool {
	return c.Terminal && !o.noColor && c.Getenv("NO_COLOR") == "" && c.Getenv("TERM") != "dumb"
}

// Infof prints progress information unless --quiet is set.
func (c *Console) Infof(o *Options, format string, args ...any) {
	if !o.Quiet {
		fmt.Fprintf(c.Err, format+"\n", args...)
	}
}

// Getenv returns an environment variable. If it is defined more than once, the last definition is used.
func (c *Console) Getenv(name string) string {
	value := ""
	for _, pair := range c.Env {
		if key, v, found := strings.Cut(pair, "="); found && key == name {
			value = v
		}
	}
	return value
}

// FormatTime formats a time in the local time zone, or in UTC with --utc. The zero time is formatted as a dash.
func (c *Console) FormatTime(o *Options, t time.Time, layout string) string {
	if t.IsZero() {
		return Dash
	}
	if o.utc || c.Zone == nil {
		return t.UTC().Format(layout)
	}
	return t.In(c.Zone).Format(layout)
}

// Password reads a password from standard input, or asks for it twice without echo.
func (c *Console) Password(ctx context.Context, stdin bool) (string, error) {
	if stdin {
		line, err := c.readLine(ctx)
		if errors.Is(err, io.EOF) {
			return "", Usagef("pipe the password in:  printf '%s' \"$PASSWORD\" | fairlead …", "standard input is empty")
		}
		return line, err
	}
	if !c.CanAsk {
		return "", Usagef("pipe the password in and add --password-stdin", "cannot ask for a password: this is not a terminal")
	}
	first, err := c.ask(ctx, "Password: ")
	if err != nil {
		return "", err
	}
	second, err := c.ask(ctx, "Repeat password: ")
	if err != nil {
		return "", err
	}
	if first != second {
		return "", errors.New("the passwords do not match")
	}
	return first, nil
}

// maxKey is the maximum length of a provider's key. A service account file has a few kilobytes.
const maxKey = 16 << 10

// Key asks for a provider's key without echo, or reads all of standard input if it is not a terminal.
func (c *Console) Key(ctx context.Context) (string, error) {
	if c.CanAsk {
		return c.ask(ctx, "API key: ")
	}
	text, err := Awaiting(ctx, func() (string, error) {
		all, err := io.ReadAll(io.LimitReader(c.In, maxKey+1))
		return strings.TrimSpace(string(all)), err
	})
	if err != nil {
		return "", fmt.Errorf("read the key: %w", err)
	}
	return text, nil
}

func (c *Console) ask(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(c.Err, prompt)
	defer fmt.Fprintln(c.Err)
	text, err := c.Secret(ctx)
	if err != nil {
		return "", fmt.Errorf("read a secret: %w", err)
	}
	return text, nil
}
