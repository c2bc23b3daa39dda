package requests

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	adminrequests "fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/requestlog"
)

func (r *requestCommands) newList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List requests, newest first", Args: cli.NoArgs,
		Long: "List requests, newest first. The filters are those of the dashboard and the API. Separate several values with commas.",
		Example: `  fairlead requests list
  fairlead requests list --decision fallback --from now-24h
  fairlead requests list --preset expensive --limit 10
  fairlead requests list --model gpt-4.1,gpt-4.1-mini --min-latency 2s --json | jq -r .id`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.selecting(cmd, func(s selected) error {
				entries, err := s.store.Entries(cmd.Context(), s.filter, s.page)
				unfinished, partial := errors.AsType[*requestlog.UnfinishedError](err)
				if err != nil && !partial {
					return err
				}
				if err := r.list(entries, s.page); err != nil || !partial {
					return err
				}
				r.Console.Infof(r.Options, "searched back to %s; to search further add  --before %s", r.Console.FormatTime(r.Options, unfinished.SearchedTo(), cli.RowTime), unfinished.Before)
				return nil
			})
		},
	}
	cli.AddFilterFlags(cmd, requestlog.Parameter{Name: "limit", Help: "Maximum number of requests, up to 200 (default 50)"},
		requestlog.Parameter{Name: "sort", Help: "Sort by time, cost, latency or tokens: newest, most expensive, slowest or longest first; tokens sorts the newest 10,000", Values: []string{"time", "cost", "latency", "tokens"}},
		requestlog.Parameter{Name: "before", Help: "List requests older than this request id"})
	return cmd
}

func (r *requestCommands) list(entries []requestlog.Entry, page requestlog.Page) error {
	t := r.table()
	err := cli.PrintList(r.Console, r.Options, entries, "no requests match", adminrequests.RowOf, t, func(e *requestlog.Entry) { r.addRow(t, e) })
	if err != nil || r.Options.JSON {
		return err
	}
	if len(entries) == cmp.Or(page.Limit, 50) && (page.Sort == "" || page.Sort == "time") {
		r.Console.Infof(r.Options, "for older requests add  --before %s", entries[len(entries)-1].ID)
	}
	return nil
}

func (r *requestCommands) writeRows(entries []requestlog.Entry) error {
	for i := range entries {
		if err := r.Console.PrintJSON(adminrequests.RowOf(&entries[i])); err != nil {
			return err
		}
	}
	return nil
}

func (r *requestCommands) table() *cli.Table {
	return &cli.Table{Columns: []cli.Column{
		{Title: "ID"},
		{Title: "TIME", Hide: 2},
		{Title: "OUTCOME", Soft: true},
		{Title: "DECISION", Soft: true, Hide: 4},
		{Title: "MODEL", Soft: true, Hide: 1},
		{Title: "PROVIDER", Soft: true, Hide: 7},
		{Title: "COST", Right: true},
		{Title: "VS BASELINE", Right: true, Hide: 3},
		{Title: "LATENCY", Right: true},
		{Title: "IN", Right: true, Hide: 6},
		{Title: "OUT", Right: true, Hide: 5},
		{Title: "REQUESTED", Soft: true, Hide: 9},
		{Title: "KEY", Soft: true, Hide: 8},
	}}
}

func (r *requestCommands) addRow(t *cli.Table, e *requestlog.Entry) {
	outcome := cli.Cell{Text: string(e.Outcome), Paint: cli.Yellow}
	if e.Status > 0 {
		outcome.Text = strconv.Itoa(e.Status) + " " + outcome.Text
	}
	switch e.Outcome {
	case requestlog.OK:
		outcome.Paint = cli.Green
	case requestlog.UpstreamError, requestlog.GatewayError, requestlog.Partial, requestlog.Interrupted:
		outcome.Paint = cli.Red
	default:
	}
	decision := cli.Cell{Text: string(e.DecisionKind)}
	if e.Policy != "" {
		decision.Text = strings.TrimSpace(decision.Text + " (" + e.Policy + ")")
	}
	decision.Text = cli.OrDash(decision.Text)
	if e.DecisionKind == "fallback" {
		decision.Paint = cli.Yellow
	}
	provider := cli.OrDash(e.Provider)
	if e.Simulated && e.Provider != "" {
		provider += " SIMULATED"
	}
	cost := cli.Cost(e.Cost)
	if e.Model == "" { // "free" is for free models, not for a request that no model served
		cost = cli.Amount(e.Cost)
	}
	versusBaseline := cli.Dash
	if saved, ok := e.Saved(); ok {
		versusBaseline = cli.CostChange(saved, *e.BaselineCost)
	}
	t.Add(cli.Cell{Text: e.ID}, cli.Cell{Text: r.rowTime(e.Time)}, outcome, decision,
		cli.Cell{Text: cli.OrDash(e.Model)}, cli.Cell{Text: provider}, cli.Cell{Text: cost}, cli.Cell{Text: versusBaseline},
		cli.Cell{Text: cli.DurationOrDash(e.Latency)}, cli.Cell{Text: cli.Count(e.Usage.Prompt())}, cli.Cell{Text: cli.Count(e.Usage.Output)},
		cli.Cell{Text: cli.OrDash(e.Requested)}, cli.Cell{Text: cli.OrDash(e.KeyName)})
}

// rowTime formats the time of a request. In a narrow terminal it shows only the time for today's requests and only the date for
// older ones.
func (r *requestCommands) rowTime(t time.Time) string {
	const date = "Jan 02"
	at := func(t time.Time, layout string) string { return r.Console.FormatTime(r.Options, t, layout) }
	switch width := r.Console.Columns(); {
	case width == 0 || width >= wideEnough:
		return at(t, cli.RowTime)
	case at(t, date) == at(r.Console.Now(), date) && r.Console.Now().Sub(t) < 24*time.Hour:
		return at(t, time.TimeOnly)
	default:
		return at(t, date)
	}
}

// wideEnough is the minimum terminal width for rows with date and time.
const wideEnough = 90
