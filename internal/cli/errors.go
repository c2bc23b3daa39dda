package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"fairlead/internal/config"
	"fairlead/internal/llm"
	"fairlead/internal/requestlog"
	"fairlead/internal/store"
	"fairlead/internal/vault"
)

// Exit codes that scripts rely on.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitProblems    = 3
	ExitInterrupted = 130
)

// UsageError is a command line that cannot be understood.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// ProblemsError says that a check did its work and found problems, which it has shown.
type ProblemsError struct{ Count int }

func (e *ProblemsError) Error() string { return fmt.Sprintf("%d problems found", e.Count) }

// ReportedError says that a command failed and has already said how.
type ReportedError struct{ Err error }

func (e *ReportedError) Error() string { return e.Err.Error() }
func (e *ReportedError) Unwrap() error { return e.Err }

// fixError is an error with what to do about it.
type fixError struct {
	err error
	fix string
}

func (e *fixError) Error() string { return e.err.Error() }
func (e *fixError) Unwrap() error { return e.err }

// WithFix says what to do about an error.
func WithFix(err error, format string, args ...any) error {
	return &fixError{err, fmt.Sprintf(format, args...)}
}

// Usagef is a usage error with what to do about it.
func Usagef(fix, format string, args ...any) error {
	return &UsageError{&fixError{fmt.Errorf(format, args...), fix}}
}

// AsUsageError makes an error that is about what was asked for a usage error.
func AsUsageError(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok && (e.Kind == llm.InvalidRequest || e.Kind == llm.InvalidJSON) {
		return &UsageError{err}
	}
	return err
}

// ErrorText is an error as people read it: what, why, and what to do. It is empty for what has been said already.
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
