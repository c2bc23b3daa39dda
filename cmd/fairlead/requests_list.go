package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead/internal/admin/requests"
	"fairlead/internal/requestlog"
)

func (r *requestCommands) newList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List requests, newest first", Args: noArgs,
		Long: "List requests, newest first. The filters are those of the dashboard and the API; several values are joined by commas.",
		Example: `  fairlead requests list
  fairlead requests list --decision fallback --from now-24h
  fairlead requests list --preset expensive --limit 10
  fairlead requests list --model gpt-4.1,gpt-4.1-mini --min-latency 2s --json | jq -r .id`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.selecting(cmd, func(s selected) error {
				entries, err := s.store.Entries(cmd.Context(), s.filter, s.page)
				if err != nil {
					return err
				}
				return r.list(entries, s.page)
			})
		},
	}
	filterFlags(cmd, [2]string{"limit", "Most requests to list, up to 200; 50 when absent"},
		[2]string{"sort", "time, cost or latency: the newest, dearest or slowest first"},
		[2]string{"before", "Id of a request: list older ones"})
	return cmd
}

func (r *requestCommands) list(entries []requestlog.Entry, page requestlog.Page) error {
	if r.options.json {
		return r.writeRows(entries)
	}
	if len(entries) == 0 {
		r.console.say(r.options, "no requests match")
		return nil
	}
	t := r.table()
	for i := range entries {
		r.addRow(t, &entries[i])
	}
	if err := r.console.writeTable(r.options, t); err != nil {
		return err
	}
	limit := page.Limit
	if limit == 0 {
		limit = 50
	}
	if len(entries) == limit && (page.Sort == "" || page.Sort == "time") {
		r.console.say(r.options, "for older ones add  --before %s", entries[len(entries)-1].ID)
	}
	return nil
}

func (r *requestCommands) writeRows(entries []requestlog.Entry) error {
	for i := range entries {
		if err := r.console.writeJSON(requests.RowOf(&entries[i])); err != nil {
			return err
		}
	}
	return nil
}

func (r *requestCommands) table() *table {
	return &table{columns: []column{
		{title: "ID"},
		{title: "TIME", hide: 2},
		{title: "OUTCOME", soft: true},
		{title: "DECISION", soft: true, hide: 4},
		{title: "MODEL", soft: true, hide: 1},
		{title: "PROVIDER", soft: true, hide: 7},
		{title: "COST", right: true},
		{title: "VS BASE", right: true, hide: 3},
		{title: "LATENCY", right: true},
		{title: "IN", right: true, hide: 6},
		{title: "OUT", right: true, hide: 5},
		{title: "REQUESTED", soft: true, hide: 9},
		{title: "KEY", soft: true, hide: 8},
	}}
}

func (r *requestCommands) addRow(t *table, e *requestlog.Entry) {
	t.add(cell{text: e.ID}, cell{text: r.rowTime(e.Time)}, outcomeCell(e), decisionCell(e),
		cell{text: or(e.Model)}, cell{text: providerText(e)}, cell{text: costText(e)}, cell{text: versusBaseline(e)},
		cell{text: lastedOr(e.Latency)}, cell{text: count(e.Usage.Prompt())}, cell{text: count(e.Usage.Output)},
		cell{text: or(e.Requested)}, cell{text: or(e.KeyName)})
}

// rowTime returns when a request came: in a narrow terminal, as ls does, the time of day for today and the date for older ones.
func (r *requestCommands) rowTime(t time.Time) string {
	const date = "Jan 02"
	at := func(t time.Time, layout string) string { return r.console.at(r.options, t, layout) }
	switch width := r.console.columns(); {
	case width == 0 || width >= wideEnough:
		return at(t, rowTime)
	case at(t, date) == at(r.console.now(), date) && r.console.now().Sub(t) < 24*time.Hour:
		return at(t, time.TimeOnly)
	default:
		return at(t, date)
	}
}

// wideEnough is the terminal width from which rows show date and time.
const wideEnough = 90

func outcomeCell(e *requestlog.Entry) cell {
	text := string(e.Outcome)
	if e.Status > 0 {
		text = strconv.Itoa(e.Status) + " " + text
	}
	return cell{text, outcomePaint(e.Outcome)}
}

func outcomePaint(o requestlog.Outcome) paint {
	switch o {
	case requestlog.OK:
		return green
	case requestlog.UpstreamError, requestlog.GatewayError, requestlog.Partial, requestlog.Interrupted:
		return red
	default:
		return yellow
	}
}

func decisionCell(e *requestlog.Entry) cell {
	text := string(e.DecisionKind)
	if e.Policy != "" {
		text = strings.TrimSpace(text + " (" + e.Policy + ")")
	}
	if e.DecisionKind == "fallback" {
		return cell{or(text), yellow}
	}
	return cell{text: or(text)}
}

// providerText says of simulated answers that they are.
func providerText(e *requestlog.Entry) string {
	if e.Simulated && e.Provider != "" {
		return e.Provider + " SIMULATED"
	}
	return or(e.Provider)
}

// costText is what a request cost. One that no model served cost nothing, which is another thing than a free model.
func costText(e *requestlog.Entry) string {
	if e.Model == "" {
		return amount(e.Cost)
	}
	return paid(e.Cost)
}

// versusBaseline is how much less or more than the baseline the request cost.
func versusBaseline(e *requestlog.Entry) string {
	saved, ok := e.Saved()
	if !ok {
		return unknown
	}
	return change(saved, *e.BaselineCost)
}
