package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"fairlead.dev/internal/config"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/vault"
)

// Exit codes. Scripts rely on them.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitProblems    = 3
	ExitInterrupted = 130
)

// UsageError reports an invalid command line.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// ProblemsError is returned by a check that completed and has printed the problems it found.
type ProblemsError struct{ Count int }

func (e *ProblemsError) Error() string { return fmt.Sprintf("%d problems found", e.Count) }

// ReportedError is a failure that the command has already printed.
type ReportedError struct{ Err error }

func (e *ReportedError) Error() string { return e.Err.Error() }
func (e *ReportedError) Unwrap() error { return e.Err }

// fixError is an error with a suggested fix.
type fixError struct {
	err error
	fix string
}

func (e *fixError) Error() string { return e.err.Error() }
func (e *fixError) Unwrap() error { return e.err }

// WithFix adds a suggested fix to an error.
func WithFix(err error, format string, args ...any) error {
	return &fixError{err, fmt.Sprintf(format, args...)}
}

// Usagef returns a usage error with a suggested fix.
func Usagef(fix, format string, args ...any) error {
	return &UsageError{&fixError{fmt.Errorf(format, args...), fix}}
}

// AsUsageError converts an error about invalid input to a usage error.
func AsUsageError(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok && (e.Kind == llm.InvalidRequest || e.Kind == llm.InvalidJSON) {
		return &UsageError{err}
	}
	return err
}

// ErrorText formats an error for the terminal with its cause and a suggested fix. It returns an empty string for an error that
// was already printed.
func ErrorText(ctx context.Context, err error) string {
	if _, ok := errors.AsType[*ProblemsError](err); ok {
		return ""
	}
	if _, ok := errors.AsType[*ReportedError](err); ok {
		return ""
	}
	if problems, ok := errors.AsType[*config.Problems](err); ok {
		return strings.TrimRight(problems.Pretty(), "\n")
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return "interrupted"
	}
	text := "error: " + CleanLines(err.Error())
	if e, ok := errors.AsType[*llm.Error](err); ok {
		text = "error: " + CleanLines(e.Message)
	}
	if fix := FixText(err); fix != "" {
		text += "\n  fix: " + fix
	}
	return text
}

// FixText returns the suggested fix of an error, or an empty string.
func FixText(err error) string {
	if e, ok := errors.AsType[*fixError](err); ok {
		return e.fix
	}
	switch {
	case errors.Is(err, requestlog.ErrTooSlow):
		return "add --from now-1h or another filter"
	case errors.Is(err, vault.ErrOtherKey):
		return "restore master.key from a backup into the data directory, or set master_key"
	case errors.Is(err, syscall.EADDRINUSE):
		return "stop the process that uses the address, or choose another one with --listen, or admin_listen in the configuration"
	case errors.Is(err, store.ErrLocked):
		return "stop that server, or use another --data-dir"
	}
	return ""
}
