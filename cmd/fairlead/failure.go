package main

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

// usageError is a command line that cannot be understood.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// problemsError says that a check did its work and found problems, which it has shown.
type problemsError struct{ count int }

func (e *problemsError) Error() string { return fmt.Sprintf("%d problems found", e.count) }

// shownError says that a command failed and has already said how.
type shownError struct{ err error }

func (e *shownError) Error() string { return e.err.Error() }
func (e *shownError) Unwrap() error { return e.err }

// fixError is an error with what to do about it.
type fixError struct {
	err error
	fix string
}

func (e *fixError) Error() string { return e.err.Error() }
func (e *fixError) Unwrap() error { return e.err }

// withFix says what to do about an error.
func withFix(err error, format string, args ...any) error {
	return &fixError{err, fmt.Sprintf(format, args...)}
}

// usage is a usage error with what to do about it.
func usage(fix, format string, args ...any) error {
	return &usageError{&fixError{fmt.Errorf(format, args...), fix}}
}

// asUsage makes an error that is about what was asked for a usage error.
func asUsage(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok && (e.Kind == llm.InvalidRequest || e.Kind == llm.InvalidJSON) {
		return &usageError{err}
	}
	return err
}

// errorText is an error as people read it: what, why, and what to do. It is empty for what has been said already.
func errorText(ctx context.Context, err error) string {
	if _, ok := errors.AsType[*problemsError](err); ok {
		return ""
	}
	if _, ok := errors.AsType[*shownError](err); ok {
		return ""
	}
	if problems, ok := errors.AsType[*config.Problems](err); ok {
		return strings.TrimRight(problems.Pretty(), "\n")
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return "interrupted"
	}
	text := "error: " + cleanLines(err.Error())
	if e, ok := errors.AsType[*llm.Error](err); ok {
		text = "error: " + cleanLines(e.Message)
	}
	if fix := fixText(err); fix != "" {
		text += "\n  fix: " + fix
	}
	return text
}

func fixText(err error) string {
	if e, ok := errors.AsType[*fixError](err); ok {
		return e.fix
	}
	switch {
	case errors.Is(err, requestlog.ErrTooSlow):
		return "add --from now-1h or another filter"
	case errors.Is(err, vault.ErrOtherKey):
		return "put master.key from the backup into the data directory, or set master_key to the one that was used"
	case errors.Is(err, syscall.EADDRINUSE):
		return "stop what listens there, or choose another address:  --listen,  or admin_listen in the configuration"
	case errors.Is(err, store.ErrLocked):
		return "stop that server, or give this one another --data-dir"
	}
	return ""
}
