// Package sessions implements "fairlead sessions".
package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/account"
	adminrequests "fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
)

// New returns the sessions commands.
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	cmd := cli.Group("sessions", "List and show sessions", `  fairlead sessions list --from now-24h --min-turns 2
  fairlead sessions show conv_01hx…`)
	s := &sessionCommands{instance.Commands{Console: c, Options: o}}
	cmd.PersistentFlags().StringVar(&s.Workspace, "workspace", "", instance.WorkspaceHelp)
	cmd.AddCommand(s.newList(), s.newShow())
	return cmd
}

// sessionCommands holds the state shared by the sessions commands.
type sessionCommands struct{ instance.Commands }

func (s *sessionCommands) newList() *cobra.Command {
	var minTurns int64
	var source string
	cmd := &cobra.Command{
		Use: "list", Short: "List sessions, the one with the latest request first", Args: cli.NoArgs,
		Long: "List sessions, the one with the latest request first. A session is the conversation or agent run that requests belong to.",
		Example: `  fairlead sessions list
  fairlead sessions list --from now-24h --min-turns 2
  fairlead sessions list --key ci --json | jq -r '[.id, .cost_usd] | @tsv'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, page, err := cli.ParseFilter(cmd, s.Console.Now())
			if err != nil {
				return err
			}
			if source != "" && source != "given" && source != "derived" {
				return cli.Usagef("use given or derived", "--source: unknown source %q", cli.Clean(source))
			}
			return s.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
				f.WorkspaceID = w.ID
				if err := instance.ResolveKeys(cmd.Context(), i, &f); err != nil {
					return err
				}
				i.AwaitEntries(cmd.Context())
				found, err := i.Store.Log.Sessions(cmd.Context(), requestlog.SessionFilter{
					WorkspaceID: w.ID, From: f.From, To: f.To, ID: f.Session, Key: f.Key, User: f.User, Model: f.Model, Simulated: f.Simulated, MinTurns: minTurns, Source: source,
				}, requestlog.SessionPage{Before: page.Before, Limit: page.Limit})
				if err != nil {
					return err
				}
				return s.list(found, page.Limit)
			})
		},
	}
	shared := []string{"from", "to", "key", "user", "model", "session", "simulated"} // the requests commands have the same filters
	cli.AddSomeFilterFlags(cmd, shared, requestlog.Parameter{Name: "limit", Help: "Maximum number of sessions, up to 200 (default 50)"},
		requestlog.Parameter{Name: "before", Help: "List sessions whose latest request is older than this request id"})
	cmd.Flags().Int64Var(&minTurns, "min-turns", 0, "minimum number of requests")
	cmd.Flags().StringVar(&source, "source", "", "given for sessions that clients named, derived for the others")
	return cmd
}

func (s *sessionCommands) list(found []requestlog.Session, limit int) error {
	t := &cli.Table{Columns: []cli.Column{
		{Title: "SESSION", Soft: true},
		{Title: "LAST", Hide: 2},
		{Title: "TURNS", Right: true},
		{Title: "DURATION", Right: true, Hide: 4},
		{Title: "COST", Right: true},
		{Title: "VS BASELINE", Right: true, Hide: 3},
		{Title: "MODELS", Soft: true, Hide: 1},
		{Title: "CLIENT", Soft: true, Hide: 6},
		{Title: "FIRST PROMPT", Soft: true, Hide: 5},
	}}
	err := cli.PrintList(s.Console, s.Options, found, "no sessions match", adminrequests.SessionOf, t, func(one *requestlog.Session) {
		v := adminrequests.SessionOf(one)
		t.Add(cli.Cell{Text: cli.Clean(v.ID)}, cli.Cell{Text: s.Console.FormatTime(s.Options, v.Last, cli.RowTime)}, cli.Cell{Text: cli.Count(v.Turns)},
			cli.Cell{Text: cli.DurationOrDash(v.Last.Sub(v.Start))}, cli.Cell{Text: costOf(one)}, cli.Cell{Text: change(v)},
			cli.Cell{Text: cli.OrDash(strings.Join(v.Models, ", "))}, cli.Cell{Text: cli.OrDash(cli.Clean(v.Client))}, cli.Cell{Text: cli.OrDash(cli.Clean(v.Preview))})
	})
	if err != nil || s.Options.JSON {
		return err
	}
	if len(found) == cmp.Or(limit, 50) {
		s.Console.Infof(s.Options, "for older sessions add  --before %s", found[len(found)-1].LastID)
	}
	return nil
}

// costOf formats the cost of a session. It returns a dash if the cost of every turn is unknown.
func costOf(s *requestlog.Session) string {
	if s.Unpriced == s.Turns {
		return cli.Dash
	}
	return cli.Amount(&s.Cost)
}

func change(v adminrequests.SessionSummary) string {
	if v.Saved == nil {
		return cli.Dash
	}
	return cli.CostChange(*v.Saved, *v.BaselineCost)
}

// sessionJSON is the JSON form of a session with its turns.
type sessionJSON struct {
	adminrequests.SessionSummary
	List []adminrequests.Turn `json:"turn_list"`
}

func (s *sessionCommands) newShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a session with its turns", Args: cli.OneArg("the session's id"),
		Example: `  fairlead sessions show conv_01hx…
  fairlead sessions show conv_01hx… --json | jq '.turn_list[].model'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
				i.AwaitEntries(cmd.Context())
				found, err := i.Store.Log.Session(cmd.Context(), w.ID, args[0])
				if errors.Is(err, requestlog.ErrNotFound) {
					return cli.WithFix(fmt.Errorf("session %q not found in workspace %s", cli.Clean(args[0]), w.ID), "see  fairlead sessions list,  or use another --workspace or --data-dir")
				}
				if err != nil {
					return err
				}
				turns, err := s.turns(cmd.Context(), i, w, args[0])
				if err != nil {
					return err
				}
				view := adminrequests.SessionOf(&found)
				if s.Options.JSON {
					return s.Console.PrintJSON(sessionJSON{view, turns})
				}
				text := s.summary(view, costOf(&found))
				if len(turns) > 0 && turns[0].Number > 1 {
					text += fmt.Sprintf("\n  turns before %d are no longer in the log", turns[0].Number)
				}
				if err := s.Console.Print(text + "\n\n"); err != nil {
					return err
				}
				t := turnTable()
				var total money.Amount
				for i := range turns {
					s.addTurn(t, &turns[i], &total)
				}
				return s.Console.PrintTable(s.Options, t)
			})
		},
	}
}

// summary describes a session in a few lines.
func (s *sessionCommands) summary(v adminrequests.SessionSummary, cost string) string {
	lines := []string{
		fmt.Sprintf("session %s (%s)", cli.Clean(v.ID), v.Source),
		fmt.Sprintf("  %s in %s, since %s, last %s", cli.Plural(int(v.Turns), "turn"), cli.DurationOrDash(v.Last.Sub(v.Start)),
			s.Console.FormatTime(s.Options, v.Start, cli.RowTime), s.Console.FormatTime(s.Options, v.Last, cli.RowTime)),
		fmt.Sprintf("  cost %s (%s)", cost, change(v)),
		fmt.Sprintf("  %s input tokens (%s cached), %s output tokens", cli.Count(v.InputTokens), cli.Count(v.CachedTokens), cli.Count(v.OutputTokens)),
		"  models " + cli.OrDash(strings.Join(v.Models, ", ")),
	}
	return strings.Join(lines, "\n")
}

// turns returns all turns of a session, oldest first.
func (s *sessionCommands) turns(ctx context.Context, i *instance.Instance, w account.Workspace, session string) ([]adminrequests.Turn, error) {
	const page = 100
	var all []adminrequests.Turn
	for after := ""; ; {
		some, err := adminrequests.Turns(ctx, i.Store.Log, i.Store.Log, account.CommandLine(w.ID), w.ID, session, after, page)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if len(some) < page {
			return all, nil
		}
		after = some[len(some)-1].ID
	}
}

func turnTable() *cli.Table {
	return &cli.Table{Columns: []cli.Column{
		{Title: "TURN", Right: true},
		{Title: "TIME", Hide: 3},
		{Title: "GAP", Right: true, Hide: 4},
		{Title: "MODEL", Soft: true},
		{Title: "COST", Right: true},
		{Title: "TOTAL", Right: true, Hide: 2},
		{Title: "IN", Right: true, Hide: 5},
		{Title: "CACHED", Right: true, Hide: 6},
		{Title: "OUT", Right: true, Hide: 7},
		{Title: "LATENCY", Right: true, Hide: 1},
		{Title: "OUTCOME", Soft: true, Hide: 8},
		{Title: "NOTES", Soft: true, Hide: 9},
	}}
}

func (s *sessionCommands) addTurn(t *cli.Table, turn *adminrequests.Turn, total *money.Amount) {
	if turn.Cost != nil {
		*total = total.Add(*turn.Cost)
	}
	text := func(v *string) string {
		if v == nil {
			return cli.Dash
		}
		return cli.Clean(*v)
	}
	span := func(ms *int64) string {
		if ms == nil {
			return cli.Dash
		}
		return cli.DurationOrDash(time.Duration(*ms) * time.Millisecond)
	}
	var notes []string
	for _, n := range turn.Notes {
		notes = append(notes, n.Code+": "+n.Reason)
	}
	in := turn.Tokens.Input + turn.Tokens.CacheRead + turn.Tokens.CacheWrite
	t.Add(cli.Cell{Text: cli.Count(turn.Number)}, cli.Cell{Text: s.Console.FormatTime(s.Options, turn.Time, cli.RowTime)}, cli.Cell{Text: span(turn.GapMS)},
		cli.Cell{Text: text(turn.Model)}, cli.Cell{Text: cli.Amount(turn.Cost)}, cli.Cell{Text: cli.Amount(total)}, cli.Cell{Text: cli.Count(in)},
		cli.Cell{Text: cli.Count(turn.Tokens.CacheRead)}, cli.Cell{Text: cli.Count(turn.Tokens.Output)}, cli.Cell{Text: span(turn.LatencyMS)},
		cli.Cell{Text: text(turn.Outcome)}, cli.Cell{Text: cli.OrDash(cli.Clean(strings.Join(notes, "; ")))})
}
