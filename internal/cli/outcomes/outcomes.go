// Package outcomes implements "fairlead outcomes".
package outcomes

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/account"
	adminoutcomes "fairlead.dev/internal/admin/outcomes"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/feedback"
)

// learningObject is the object of audit events that do not concern one model, as in the admin API.
const learningObject = "learning"

// New returns the outcomes commands.
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	cmd := cli.Group("outcomes", "Show what the router learned from ratings and verdicts", `  fairlead outcomes show
  fairlead outcomes export > outcomes.jsonl
  fairlead outcomes reset --model gpt-5-mini
  fairlead outcomes set --enabled=false`)
	s := &commands{instance.Commands{Console: c, Options: o}}
	cmd.PersistentFlags().StringVar(&s.Workspace, "workspace", "", instance.WorkspaceHelp)
	cmd.AddCommand(s.newShow(), s.newExport(), s.newReset(), s.newSet())
	return cmd
}

type commands struct{ instance.Commands }

// learner loads the learned state of the router. The state is computed in the same way as in a server.
func (s *commands) learner(ctx context.Context, i *instance.Instance) (*feedback.Index, error) {
	r, err := i.Routing(ctx, s.Console.Getenv, s.Console.Version, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return r.Feedback, nil
}

func (s *commands) newShow() *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show learned abilities", Args: cli.NoArgs,
		Long: `Show learned abilities

STATIC is the mean predicted quality without outcomes, LEARNED that with outcomes, for the prompts with outcomes.`,
		Example: `  fairlead outcomes show
  fairlead outcomes show --json | jq .abilities`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
				index, err := s.learner(cmd.Context(), i)
				if err != nil {
					return err
				}
				return s.show(index.Learning(w.ID))
			})
		},
	}
}

func (s *commands) show(l feedback.Learned) error {
	v := adminoutcomes.StateOf(&l)
	if s.Options.JSON {
		return s.Console.PrintJSON(v)
	}
	s.Console.Infof(s.Options, "%s", status(&v))
	if len(v.Abilities) == 0 {
		return nil
	}
	t := &cli.Table{Columns: []cli.Column{
		{Title: "MODEL", Soft: true},
		{Title: "TASK"},
		{Title: "OUTCOMES", Right: true},
		{Title: "STATIC", Right: true},
		{Title: "LEARNED", Right: true},
		{Title: "95 %", Right: true, Hide: 1},
	}}
	for _, a := range v.Abilities {
		t.Row(cli.Clean(a.Model), cli.OrDash(a.Task), cli.Count(int64(a.Outcomes)), quality(a.Static), quality(a.Learned), quality(a.Low)+"–"+quality(a.High))
	}
	return s.Console.PrintTable(s.Options, t)
}

// status describes whether the learned abilities are used.
func status(v *adminoutcomes.LearningState) string {
	switch {
	case !v.Settings.Enabled:
		return "learning is disabled: the static abilities are used"
	case v.Active:
		return fmt.Sprintf("the learned abilities are used, version %s, from %s", v.Version, cli.Plural(v.Verdicts, "outcome"))
	}
	return fmt.Sprintf("the static abilities are used: %d of %d ratings and verdicts", v.Verdicts, v.MinVerdicts)
}

func quality(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

func (s *commands) newExport() *cobra.Command {
	return &cobra.Command{
		Use: "export", Short: "Write all outcomes as JSON lines, newest request first", Args: cli.NoArgs,
		Example: `  fairlead outcomes export > outcomes.jsonl
  fairlead outcomes export | jq -r 'select(.source == "shadow") | [.model, .score] | @tsv'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
				page := feedback.OutcomePage{Limit: 1000}
				for {
					found, err := i.Store.Feedback.Outcomes(cmd.Context(), w.ID, page)
					if err != nil {
						return err
					}
					for k := range found {
						if err := s.Console.PrintJSON(adminoutcomes.ViewOf(&found[k])); err != nil {
							return err
						}
					}
					if len(found) < page.Limit {
						return nil
					}
					last := &found[len(found)-1]
					page.Request, page.Rater = last.RequestID, last.Rater()
				}
			})
		},
	}
}

func (s *commands) newReset() *cobra.Command {
	var model string
	cmd := &cobra.Command{
		Use: "reset", Short: "Forget what the router learned", Args: cli.NoArgs,
		Long:    "Forget what the router learned. Existing outcomes of one model, or of all models, no longer affect routing. They remain readable.",
		Example: "  fairlead outcomes reset\n  fairlead outcomes reset --model gpt-5-mini",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
				if err := i.Store.Feedback.ResetFeedback(cmd.Context(), w.ID, model, s.Console.Now()); err != nil {
					return err
				}
				object := model
				if object == "" {
					object = learningObject
				}
				if err := i.Accounts.Note(cmd.Context(), account.CommandLine(w.ID), "learning.reset", object, nil, nil); err != nil {
					return err
				}
				s.Console.Infof(s.Options, "existing outcomes no longer affect routing")
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&model, "model", "", "model whose outcomes are reset (default: all models)")
	return cmd
}

func (s *commands) newSet() *cobra.Command {
	var enabled bool
	cmd := &cobra.Command{
		Use: "set", Short: "Change how the router learns from outcomes", Args: cli.NoArgs,
		Example: "  fairlead outcomes set --enabled=false",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
				settings, err := i.Store.Feedback.Learning(cmd.Context(), w.ID)
				if err != nil {
					return err
				}
				if cmd.Flags().Changed("enabled") {
					settings.Disabled = !enabled
				}
				index, err := s.learner(cmd.Context(), i)
				if err != nil {
					return err
				}
				before := index.Learning(w.ID)
				if err := index.Configure(cmd.Context(), w.ID, settings); err != nil {
					return err
				}
				after := index.Learning(w.ID)
				oldSettings, newSettings := adminoutcomes.StateOf(&before).Settings, adminoutcomes.StateOf(&after).Settings
				if err := i.Accounts.Note(cmd.Context(), account.CommandLine(w.ID), "learning.update", learningObject, oldSettings, newSettings); err != nil {
					return err
				}
				return s.show(after)
			})
		},
	}
	cmd.Flags().BoolVar(&enabled, "enabled", true, "whether outcomes change the abilities of models")
	return cmd
}
