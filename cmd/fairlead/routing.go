package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"fairlead/internal/account"
	"fairlead/internal/app"
	"fairlead/internal/policy"
)

// routingCommands is what the commands share that decide as the gateway would.
type routingCommands struct {
	console   *console
	options   *options
	workspace string
}

// routed is an instance with a workspace, and what its requests are decided by.
type routed struct {
	*app.Routing
	instance  *app.Instance
	workspace account.Workspace
}

// with opens the instance for as long as do runs.
func (r *routingCommands) with(ctx context.Context, do func(routed) error) error {
	return withWorkspace(ctx, r.console, r.options, r.workspace, func(i *app.Instance, w account.Workspace) error {
		log := slog.New(slog.NewTextHandler(r.console.err, nil))
		if r.options.quiet {
			log = slog.New(slog.DiscardHandler)
		}
		routing, err := i.Routing(ctx, r.console.getenv, version, log)
		if err != nil {
			return err
		}
		return do(routed{routing, i, w})
	})
}

// draft reads policies that are to be tried; nil when no file is named. Problems are shown.
func (r *routingCommands) draft(from routed, path string) (*policy.Set, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // no draft is what is in force
	}
	source, err := r.read(path, policy.MaxBytes)
	if err != nil {
		return nil, err
	}
	set, problems := from.Draft(source)
	if len(problems) > 0 {
		return nil, r.showPolicyProblems(r.console.err, path, source, problems)
	}
	return set, nil
}

// read reads a file, or standard input for a dash. It reads no more than one byte above most.
func (r *routingCommands) read(path string, most int64) ([]byte, error) {
	in := r.console.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, withFix(err, "name a file that exists, or - for standard input")
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("%s has more than %s bytes", clean(path), count(most))
	}
	return text, nil
}

// showPolicyProblems writes what is wrong with policies, and returns that problems were found.
func (r *routingCommands) showPolicyProblems(w io.Writer, path string, source []byte, problems []policy.Problem) error {
	found := &problemsError{len(problems)}
	if r.options.json {
		for _, p := range problems {
			if err := r.console.writeJSON(p); err != nil {
				return err
			}
		}
		return found
	}
	if _, err := io.WriteString(w, policy.Pretty(path, source, problems)); err != nil {
		return errors.Join(fmt.Errorf("write the problems: %w", err), found)
	}
	return found
}
