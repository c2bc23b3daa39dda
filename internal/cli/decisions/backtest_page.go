package decisions

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/replay"
)

// backtestPage formats the report of a backtest as text.
type backtestPage struct {
	cli.Page
	at func(time.Time) string
}

// caution is printed with every backtest report.
const caution = "Costs are for the logged tokens; another model might have produced a different number. Quality is predicted."

func (p *backtestPage) report(r *replay.Report) {
	headline := "No requests match"
	if r.Considered > 0 {
		headline = fmt.Sprintf("%s from %s to %s, %s of them re-run", cli.Plural(int(r.Considered), "request"), p.at(r.From), p.at(r.To), cli.Count(r.Decided))
		if r.Limited {
			headline += "; older requests were not included"
		}
	}
	p.Paragraph(headline+".", 0)
	p.WriteString("\n")
	p.Field("rules", rulesText(r))
	for _, s := range r.Skipped {
		p.Field("skipped", cli.Count(s.Requests)+": "+s.Words)
	}
	if r.Decided == 0 {
		return
	}
	p.comparison("Compared with the logged decisions", &r.Logged)
	if r.InLive != nil {
		p.comparison("Compared with the active policies", r.InLive)
	}
	if len(r.Policies) > 0 {
		p.Section("Policies")
		t := &cli.Table{Columns: []cli.Column{
			{Title: "POLICY", Soft: true}, {Title: "MATCHED", Right: true}, {Title: "DECIDED", Right: true}, {Title: "DENIED", Right: true}, {Title: "SAVED", Right: true},
		}}
		for _, f := range r.Policies {
			saved := cli.Dash
			if f.Priced > 0 {
				saved = cli.Dollars(f.Saved)
			}
			t.Row(f.Name, cli.Count(f.Matched), cli.Count(f.Decided), cli.Count(f.Denied), saved)
		}
		p.Table(t)
	}
	p.changes("Largest cost changes", r.Logged.ByCost)
	p.changes("Largest changes in predicted quality", r.Logged.ByQuality)
	p.WriteString("\n")
	p.Paragraph(caution, 0)
}

func rulesText(r *replay.Report) string {
	if r.Same {
		return "the active policies"
	}
	text := "policies " + cli.OrDash(r.Draft.Versions.Policy)
	if r.Draft.Versions.Policy == r.Live.Versions.Policy {
		text = "the active policies"
	}
	switch o := r.Draft.Objective; {
	case o == nil:
		return text
	case o.Name == "number":
		return text + ", trade-off " + strconv.FormatFloat(o.Tradeoff, 'g', -1, 64)
	default:
		return text + ", objective " + o.Name
	}
}

func (p *backtestPage) comparison(title string, c *replay.Comparison) {
	p.Section(title)
	total := c.Changed + c.Moved + c.Unchanged + c.Accepted
	for _, r := range c.Rejected {
		total += r.Requests
	}
	portion := cli.Dash
	if total > 0 {
		portion = strconv.FormatFloat(100*float64(c.Changed)/float64(total), 'f', 1, 64) + " %"
	}
	p.Field("routes", fmt.Sprintf("%s (%s) use another model, %s the same model at another provider, %s are unchanged", cli.Count(c.Changed), portion, cli.Count(c.Moved), cli.Count(c.Unchanged)))
	for _, r := range c.Rejected {
		p.Field("rejected", strings.TrimSuffix(fmt.Sprintf("%s with %s by policy %s", cli.Count(r.Requests), r.Code, r.Policy), " by policy "))
	}
	if c.Accepted > 0 {
		p.Field("accepted", cli.Count(c.Accepted)+" that were rejected before")
	}
	p.Field("cost", costChange(&c.Cost))
	const change = "%s → %s, change %+.4f (95 %%: %+.4f to %+.4f) over %s"
	quality := "unknown"
	if q := &c.Quality; q.Requests > 0 {
		quality = fmt.Sprintf(change, chance(q.Before), chance(q.After), q.Change, q.Low, q.High, cli.Plural(int(q.Requests), "request"))
	}
	p.Field("quality", quality)
	if len(c.Routes) > 0 {
		p.WriteString("\n")
		p.Table(flows(c.Routes))
	}
}

func costChange(c *replay.Costs) string {
	if c.Priced == 0 {
		return "unknown"
	}
	text := fmt.Sprintf("%s → %s (%s)", cli.Dollars(c.Before), cli.Dollars(c.After), cli.CostChange(c.Before.Sub(c.After), c.Before))
	if c.Baseline != nil {
		text += ", baseline " + cli.Dollars(*c.Baseline)
	}
	return text + fmt.Sprintf("; known for %s %% of requests", strconv.FormatFloat(100*c.Coverage, 'f', 1, 64))
}

func flows(list []replay.Flow) *cli.Table {
	t := &cli.Table{Columns: []cli.Column{
		{Title: "FROM", Soft: true}, {Title: "TO", Soft: true}, {Title: "REQUESTS", Right: true}, {Title: "COST CHANGE", Right: true}, {Title: "PRICED", Right: true},
	}}
	for _, f := range list {
		from, to := f.From, f.To
		if from == replay.Others {
			from, to = "others", "others"
		}
		change := cli.Dash
		if f.Priced > 0 {
			change = cli.Dollars(f.Change)
			if f.Change > 0 {
				change = "+" + change
			}
		}
		t.Row(refusedOr(from), refusedOr(to), cli.Count(f.Requests), change, cli.Count(f.Priced))
	}
	return t
}

// refusedOr returns the model, or "rejected" if it is empty.
func refusedOr(model string) string {
	if model == "" {
		return "rejected"
	}
	return model
}

func (p *backtestPage) changes(title string, list []replay.Change) {
	if len(list) == 0 {
		return
	}
	p.Section(title)
	t := &cli.Table{Columns: []cli.Column{
		{Title: "REQUEST"},
		{Title: "FROM", Soft: true},
		{Title: "TO", Soft: true},
		{Title: "COST BEFORE", Right: true},
		{Title: "COST AFTER", Right: true},
		{Title: "QUALITY BEFORE", Right: true},
		{Title: "QUALITY AFTER", Right: true},
		{Title: "POLICY", Soft: true},
	}}
	for i := range list {
		c := &list[i]
		t.Row(c.RequestID, c.From, c.To, cli.Cost(c.CostBefore), cli.Cost(c.CostAfter), chanceOr(c.SuccessBefore), chanceOr(c.SuccessAfter), cli.OrDash(c.Policy))
	}
	p.Table(t)
}

func chanceOr(f *float64) string {
	if f == nil {
		return cli.Dash
	}
	return chance(*f)
}
