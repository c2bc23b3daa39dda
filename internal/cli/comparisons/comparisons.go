// Package comparisons implements "fairlead comparison".
package comparisons

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/account"
	admincomparison "fairlead.dev/internal/admin/comparison"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/judge"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/providerset"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/shadow"
)

// commands holds the state shared by the commands.
type commands struct{ instance.Commands }

// New returns the comparison commands.
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	s := &commands{instance.Commands{Console: c, Options: o}}
	cmd := cli.Group("comparison", "Compare routed responses with a baseline model", `  fairlead comparison set --baseline claude-opus-4-1 --share 0.05 --budget 20 --judge gpt-5
  fairlead comparison show
  fairlead comparison list --limit 20
  fairlead comparison off`)
	cmd.PersistentFlags().StringVar(&s.Workspace, "workspace", "", instance.WorkspaceHelp)
	cmd.AddCommand(s.newShow(), s.newSet(), s.newOff(), s.newList())
	return cmd
}

// recent is the period that the counts of the command "show" and the list of the command "list" cover.
const recent = 30 * 24 * time.Hour

// stateView is the JSON form of a comparison.
type stateView struct {
	Settings *account.Comparison `json:"settings"`
	Compared int64               `json:"compared"`
	Unjudged int64               `json:"unjudged"`
	Failed   int64               `json:"failed"`
	Cost     money.Amount        `json:"cost_usd"`
}

func (s *commands) newShow() *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show the settings of the comparison and the results of the last 30 days", Args: cli.NoArgs,
		Example: `  fairlead comparison show
  fairlead comparison show --json | jq .settings.baseline`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error { return s.show(cmd.Context(), i, w) })
		},
	}
}

func (s *commands) show(ctx context.Context, i *instance.Instance, w account.Workspace) error {
	tally, err := i.Store.Proof.Tally(ctx, w.ID, s.Console.Now().Add(-recent))
	if err != nil {
		return err
	}
	if s.Options.JSON {
		return s.Console.PrintJSON(stateView{w.Comparison, tally.Compared, tally.Unjudged, tally.Failed, tally.Cost})
	}
	var text strings.Builder
	if c := w.Comparison; c == nil {
		text.WriteString("Responses are not compared. Start with  fairlead comparison set\n")
	} else {
		fmt.Fprintf(&text, "baseline  %s\nshare     %s\n", cli.Clean(c.Baseline), percent(c.Share))
		if c.Holdout > 0 {
			fmt.Fprintf(&text, "holdout   %s\n", percent(c.Holdout))
		}
		fmt.Fprintf(&text, "budget    %s per month\njudge     %s\nhook      %s\n", c.Budget.Display(), cli.OrDash(cli.Clean(c.Judge)), cli.OrDash(cli.Clean(c.Hook)))
	}
	fmt.Fprintf(&text, "last 30 days: %s compared, %s without a verdict, %s failed, cost %s\n",
		cli.Count(tally.Compared), cli.Count(tally.Unjudged), cli.Count(tally.Failed), tally.Cost.Display())
	return s.Console.Print(text.String())
}

func percent(share float64) string { return strconv.FormatFloat(share*100, 'f', -1, 64) + " %" }

// settingsFlags holds the flags of the command "set".
type settingsFlags struct {
	share, holdout        float64
	baseline, judge, hook string
	budget                string
}

func (s *commands) newSet() *cobra.Command {
	var f settingsFlags
	cmd := &cobra.Command{
		Use: "set", Short: "Start the comparison or change its settings", Args: cli.NoArgs,
		Long: "Start the comparison or change its settings. Settings that are not given stay as they are. A random share of the requests to\n" +
			"auto is also sent to the baseline model, and both responses are compared. These calls are charged to the budget.",
		Example: `  fairlead comparison set --baseline claude-opus-4-1 --share 0.05 --budget 20
  fairlead comparison set --judge gpt-5`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.WithRouting(cmd.Context(), func(r instance.Routed) error { return s.set(cmd, r, &f) })
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&f.share, "share", 0.05, "share of routed requests to compare, above 0 and at most 1")
	flags.Float64Var(&f.holdout, "holdout", 0, "share of routed requests that the baseline serves, at most 0.5")
	flags.StringVar(&f.baseline, "baseline", "", "baseline model")
	flags.StringVar(&f.budget, "budget", "", "budget per month in dollars")
	flags.StringVar(&f.judge, "judge", "", "model that compares responses when checks cannot decide (default: checks only)")
	flags.StringVar(&f.hook, "hook", "", "URL that scores responses (default: none)")
	return cmd
}

func (s *commands) set(cmd *cobra.Command, r instance.Routed, f *settingsFlags) error {
	settings := &account.Comparison{Share: f.share}
	if r.Workspace.Comparison != nil {
		settings = new(*r.Workspace.Comparison)
	}
	changed := cmd.Flags().Changed
	if changed("share") {
		settings.Share = f.share
	}
	if changed("holdout") {
		settings.Holdout = f.holdout
	}
	if changed("baseline") {
		settings.Baseline = f.baseline
	}
	if changed("judge") {
		settings.Judge = f.judge
	}
	if changed("hook") {
		settings.Hook = f.hook
	}
	if changed("budget") {
		amount, err := money.Parse(f.budget)
		if err != nil || amount <= 0 {
			return cli.Usagef("write a number such as 20 or 0.5", "--budget: %q is not a dollar amount above 0", cli.Clean(f.budget))
		}
		settings.Budget = amount
	}
	switch {
	case settings.Baseline == "":
		return cli.Usagef("add  --baseline MODEL", "the comparison needs a baseline model")
	case settings.Budget == 0:
		return cli.Usagef("add  --budget 20", "the comparison needs a budget")
	}
	if err := s.check(cmd.Context(), r, settings); err != nil {
		return err
	}
	w, err := r.Instance.Accounts.UpdateWorkspace(cmd.Context(), account.CommandLine(r.Workspace.ID), r.Workspace.ID, account.WorkspaceChange{Comparison: &settings})
	if err != nil {
		return cli.AsUsageError(err)
	}
	s.Console.Infof(s.Options, "Running servers use the settings within a few seconds.")
	return s.show(cmd.Context(), r.Instance, w)
}

// check rejects unknown models, a judge from the same vendor as the baseline model, and a judge whose measured bias is too large.
func (s *commands) check(ctx context.Context, r instance.Routed, settings *account.Comparison) error {
	snap := r.Gateway.Targets()
	for _, m := range []struct{ flag, name string }{{"baseline", settings.Baseline}, {"judge", settings.Judge}} {
		if m.name == "" {
			continue
		}
		if known, near := providerset.Known(snap, m.name); !known {
			hint := "fairlead models  lists the models"
			if len(near) > 0 {
				hint = "did you mean " + near[0] + "?"
			}
			return cli.Usagef(hint, "--%s: unknown model %q", m.flag, cli.Clean(m.name))
		}
	}
	return s.checkJudge(ctx, r, snap, settings)
}

func (s *commands) checkJudge(ctx context.Context, r instance.Routed, snap *route.Snapshot, settings *account.Comparison) error {
	if settings.Judge == "" {
		return nil
	}
	if err := shadow.CheckVendor(snap, settings.Judge, settings.Baseline); err != nil {
		return cli.Usagef("choose a judge from another vendor", "--judge: %w", err)
	}
	bias, _, ok, err := r.Instance.Store.Proof.Bias(ctx, r.Workspace.ID, settings.Judge, judge.PromptVersion)
	if err != nil {
		return err
	}
	if ok && bias.Refused != "" {
		return cli.Usagef("choose another judge", "--judge: the judge failed the bias measurement. %s", bias.Refused)
	}
	return nil
}

func (s *commands) newOff() *cobra.Command {
	return &cobra.Command{
		Use: "off", Short: "End the comparison; its records stay", Args: cli.NoArgs,
		Example: `  fairlead comparison off`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
				var none *account.Comparison
				w, err := i.Accounts.UpdateWorkspace(cmd.Context(), account.CommandLine(w.ID), w.ID, account.WorkspaceChange{Comparison: &none})
				if err != nil {
					return cli.AsUsageError(err)
				}
				return s.show(cmd.Context(), i, w)
			})
		},
	}
}

func (s *commands) newList() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List compared requests of the last 30 days, newest first", Args: cli.NoArgs,
		Example: `  fairlead comparison list
  fairlead comparison list --limit 200 --json | jq -r 'select(.difference < 0) | .request_id'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > 200 {
				return cli.Usagef("use a number from 1 to 200", "--limit: %d is out of range", limit)
			}
			return s.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
				now := s.Console.Now()
				records, err := i.Store.Proof.Records(cmd.Context(), w.ID, now.Add(-recent), now, limit)
				if err != nil {
					return err
				}
				return s.list(records)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of requests, up to 200")
	return cmd
}

func (s *commands) list(records []proof.Record) error {
	view := func(r *proof.Record) admincomparison.ComparisonRecord { return admincomparison.RecordOf(r, true) }
	t := &cli.Table{Columns: []cli.Column{
		{Title: "REQUEST"},
		{Title: "TIME", Hide: 2},
		{Title: "TASK", Hide: 4},
		{Title: "ROUTED", Soft: true},
		{Title: "BASELINE", Soft: true, Hide: 1},
		{Title: "POINTS", Right: true},
		{Title: "BY", Hide: 3},
		{Title: "COST", Right: true, Hide: 5},
		{Title: "REASON", Soft: true, Hide: 6},
	}}
	return cli.PrintList(s.Console, s.Options, records, "no requests were compared", view, t, func(r *proof.Record) {
		points := string(r.State)
		if r.State == proof.Compared {
			points = strconv.FormatFloat(r.Difference*100, 'f', 0, 64)
		}
		t.Row(r.Request, s.Console.FormatTime(s.Options, r.At, cli.RowTime), r.Task, cli.Clean(r.Model), cli.Clean(r.Baseline), points, cli.OrDash(r.Method),
			cli.Amount(&r.Cost), cli.OrDash(cli.Clean(r.Reason)))
	})
}
