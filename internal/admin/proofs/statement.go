package proofs

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
)

// Statement is the statement of a workspace for a month: requests, tokens, costs and savings by model, key and day. All times are in UTC.
type Statement struct {
	Month     string // such as 2026-11
	From      time.Time
	To        time.Time // end of the period; the time of the statement if the month has not ended
	Complete  bool      // whether the month had ended
	Workspace string    // workspace name
	Simulated bool      // whether simulated requests are included

	Total  StatementLine
	Models []StatementLine // by model that served the request, highest cost first
	Keys   []StatementLine // by API key, highest cost first
	Days   []StatementLine // by day, oldest first
}

// StatementLine is one line of a statement: the figures of a group of requests.
type StatementLine struct {
	Name string // model, ID of the key, or day
	Key  string // name of the key
	requestlog.Figures
}

// Saved returns the baseline cost minus the cost of the requests for which both are known.
func (l StatementLine) Saved() money.Amount { return l.BaselineCost.Sub(l.ComparedCost) }

// StatementOptions selects a statement.
type StatementOptions struct {
	WorkspaceID string
	Workspace   string // workspace name
	Month       time.Time
	Now         time.Time
	Simulated   bool // whether to include simulated requests
}

// ErrFuture is returned for a month that has not started.
var ErrFuture = errors.New("the month has not started")

// ParseMonth parses a month such as 2026-11.
func ParseMonth(text string) (time.Time, error) {
	month, err := time.Parse("2006-01", text)
	if err != nil {
		return month, fmt.Errorf("%q is not a month such as 2026-11", text)
	}
	return month, nil
}

// PreviousMonth returns the start of the month before the month of the given time.
func PreviousMonth(now time.Time) time.Time {
	return time.Date(now.UTC().Year(), now.UTC().Month()-1, 1, 0, 0, 0, 0, time.UTC)
}

// NewStatement computes the statement of a month from the roll-ups.
func NewStatement(ctx context.Context, figures requestlog.FigureReader, keys Keys, o StatementOptions) (*Statement, error) {
	s := &Statement{Month: o.Month.Format("2006-01"), From: o.Month, To: o.Month.AddDate(0, 1, 0), Workspace: o.Workspace, Simulated: o.Simulated}
	if !o.Now.After(s.From) {
		return nil, ErrFuture
	}
	if s.Complete = !o.Now.Before(s.To); !s.Complete {
		s.To = o.Now.UTC().Truncate(time.Second)
	}
	filter := requestlog.RollupFilter{WorkspaceID: o.WorkspaceID, From: s.From, To: s.To}
	if !o.Simulated {
		filter.Simulated = new(false)
	}
	groups := func(by string) ([]StatementLine, error) {
		list, err := figures.Breakdown(ctx, requestlog.BreakdownQuery{RollupFilter: filter, By: by})
		if err != nil {
			return nil, err
		}
		var lines []StatementLine
		for _, g := range list {
			if g.Requests > 0 { // a model that was only tried has attempts but no requests
				lines = append(lines, StatementLine{Name: g.Name, Figures: g.Figures})
			}
		}
		slices.SortStableFunc(lines, func(a, b StatementLine) int { return cmp.Compare(b.Cost, a.Cost) })
		return lines, nil
	}
	total, err := groups("")
	if err != nil {
		return nil, err
	}
	if len(total) > 0 {
		s.Total = total[0]
	}
	if s.Models, err = groups("model"); err != nil {
		return nil, err
	}
	if s.Keys, err = groups("key"); err != nil {
		return nil, err
	}
	known, err := keys.Keys(ctx, o.WorkspaceID)
	if err != nil {
		return nil, err
	}
	for i := range s.Models {
		s.Models[i].Name = cmp.Or(s.Models[i].Name, "not served")
	}
	for i := range s.Keys {
		l := &s.Keys[i]
		if k := slices.IndexFunc(known, func(k account.Key) bool { return k.ID == l.Name }); k >= 0 {
			l.Key = known[k].Name
		}
		l.Name = cmp.Or(l.Name, "playground")
	}
	days, err := figures.Series(ctx, requestlog.SeriesQuery{RollupFilter: filter, Step: 24 * time.Hour})
	if err != nil {
		return nil, err
	}
	for _, d := range days {
		if d.Requests > 0 {
			s.Days = append(s.Days, StatementLine{Name: d.Start.UTC().Format(time.DateOnly), Figures: d.Figures})
		}
	}
	return s, nil
}

// WriteCSV writes one row per model, key and day, and the total.
func (s *Statement) WriteCSV(to io.Writer) error {
	w := csv.NewWriter(to)
	_ = w.Write([]string{ // w.Error returns the error later
		"row", "name", "key_name", "requests", "errors", "input_tokens", "output_tokens", "priced", "cost_usd", "compared", "baseline_cost_usd", "saved_usd",
	})
	count := func(n int64) string { return strconv.FormatInt(n, 10) }
	write := func(row string, lines ...StatementLine) {
		for _, l := range lines {
			baseline, saved := "", "" // without a baseline there is nothing to compare the cost with
			if l.Compared > 0 {
				baseline, saved = l.BaselineCost.String(), l.Saved().String()
			}
			_ = w.Write([]string{
				row, requests.Neutral(l.Name), requests.Neutral(l.Key), count(l.Requests), count(l.Errors), count(l.InputTokens), count(l.OutputTokens), count(l.Priced),
				l.Cost.String(), count(l.Compared), baseline, saved,
			})
		}
	}
	write("model", s.Models...)
	write("key", s.Keys...)
	write("day", s.Days...)
	write("total", s.Total)
	w.Flush()
	return w.Error()
}

//go:embed statement.html
var statementLayout string

// WriteHTML writes the statement as a page for reading and printing.
func (s *Statement) WriteHTML(w io.Writer) error {
	date := func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }
	period, simulated := date(s.From)+" to "+date(s.To), ""
	if !s.Complete {
		period += " (the month has not ended)"
	}
	if s.Simulated {
		simulated = "<p>Includes simulated requests, which cost nothing.</p>"
	}
	t := s.Total
	summary := "Spent " + t.Cost.Display() + ". Without a baseline model there is nothing to compare the cost with."
	totals := []string{
		"Requests", grouped(t.Requests), "Errors", grouped(t.Errors), "Input tokens", grouped(t.InputTokens), "Output tokens", grouped(t.OutputTokens),
		"Cost (known for " + grouped(t.Priced) + " requests)", t.Cost.Display(),
	}
	if t.Compared > 0 {
		summary = fmt.Sprintf("Saved %s of %s (%s).", t.Saved().Display(), t.BaselineCost.Display(), share(t.Saved(), t.BaselineCost))
		totals = append(totals, "Baseline cost (known for "+grouped(t.Compared)+" requests)", t.BaselineCost.Display(), "Saved", t.Saved().Display())
	}
	var rows strings.Builder
	for pair := range slices.Chunk(totals, 2) {
		fmt.Fprintf(&rows, "<tr><td>%s</td><td>%s</td></tr>\n", pair[0], pair[1])
	}
	_, err := strings.NewReplacer(
		"{month}", s.Month, "{workspace}", html.EscapeString(s.Workspace), "{period}", period, "{simulated}", simulated, "{summary}", summary,
		"{totals}", rows.String(), "{tables}", table("model", "Model", s.Models)+table("API key", "Key", s.Keys)+table("day", "Day", s.Days),
	).WriteString(w, statementLayout)
	return err
}

// table returns lines as a table in HTML. It is not a template, because templates call methods by name: with them, the linker would
// keep every exported method of the program.
func table(by, title string, lines []StatementLine) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<h2>By %s</h2>\n<table>\n<thead><tr>", by)
	for _, column := range []string{title, "Requests", "Cost", "Baseline cost", "Saved", "Share"} {
		fmt.Fprintf(&b, `<th scope="col">%s</th>`, column)
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	for _, l := range lines {
		name, baseline, saved, part := html.EscapeString(l.Name), "—", "—", "—"
		if l.Key != "" {
			name = fmt.Sprintf(`%s <span class="small">%s</span>`, html.EscapeString(l.Key), name)
		}
		if l.Compared > 0 {
			baseline, saved, part = l.BaselineCost.Display(), l.Saved().Display(), share(l.Saved(), l.BaselineCost)
		}
		b.WriteString("<tr>")
		for _, cell := range []string{name, grouped(l.Requests), l.Cost.Display(), baseline, saved, part} {
			fmt.Fprintf(&b, "<td>%s</td>", cell)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody>\n</table>\n")
	return b.String()
}

// grouped formats a number with thousands separators.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// share formats part/whole as a percentage.
func share(saved, baseline money.Amount) string {
	percent := money.SavedPercent(saved, baseline)
	if percent == nil {
		return "—"
	}
	return strconv.FormatFloat(*percent, 'f', 1, 64) + " %"
}
