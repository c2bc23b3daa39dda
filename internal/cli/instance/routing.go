package instance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/policy"
)

// Commands holds the state shared by the commands of a group.
type Commands struct {
	Console   *cli.Console
	Options   *cli.Options
	Workspace string
}

// Routed is an instance with a workspace and its routing.
type Routed struct {
	*Routing
	Instance  *Instance
	Workspace account.Workspace
}

// With opens the instance and the workspace, calls do and closes the instance.
func (r *Commands) With(ctx context.Context, do func(*Instance, account.Workspace) error) error {
	return With(ctx, r.Console, r.Options, func(i *Instance) error {
		w, err := i.Workspace(ctx, r.Workspace)
		if err != nil {
			return err
		}
		return do(i, w)
	})
}

// WithRouting opens the instance, the workspace and its routing, calls do and closes the instance.
func (r *Commands) WithRouting(ctx context.Context, do func(Routed) error) error {
	return r.With(ctx, func(i *Instance, w account.Workspace) error {
		log := slog.New(slog.NewTextHandler(r.Console.Err, nil))
		if r.Options.Quiet {
			log = slog.New(slog.DiscardHandler)
		}
		routing, err := i.Routing(ctx, r.Console.Getenv, r.Console.Version, log)
		if err != nil {
			return err
		}
		return do(Routed{routing, i, w})
	})
}

// Draft reads a policy draft from a file and prints its problems. It returns nil if path is empty.
func (r *Commands) Draft(from Routed, path string) (*policy.Set, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // nil means the active policies
	}
	source, err := r.Console.ReadFile(path, policy.MaxBytes)
	if err != nil {
		return nil, err
	}
	set, problems := from.Draft(source)
	if len(problems) > 0 {
		return nil, r.ShowPolicyProblems(r.Console.Err, path, source, problems)
	}
	return set, nil
}

// ShowPolicyProblems prints policy problems and returns a ProblemsError.
func (r *Commands) ShowPolicyProblems(w io.Writer, path string, source []byte, problems []policy.Problem) error {
	found := &cli.ProblemsError{Count: len(problems)}
	if r.Options.JSON {
		for _, p := range problems {
			if err := r.Console.PrintJSON(p); err != nil {
				return err
			}
		}
		return found
	}
	if _, err := io.WriteString(w, policy.Pretty(path, source, problems)); err != nil {
		return errors.Join(fmt.Errorf("write the policy problems: %w", err), found)
	}
	return found
}
