package decisions

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fairlead/internal/cli"
	"fairlead/internal/money"
	"fairlead/internal/replay"
)

// backtestPage formats the report of a backtest as text.
type backtestPage struct {
	cli.Page
	at func(time.Time) string
}

// caution is printed with every backtest report.
const caution = "Costs are for the logged tokens; another model might have produced a different number. Quality is predicted; measured quality corrects predictions by ratings."

func (p *backtestPage) report(r *replay.Report) {
	p.Paragraph(p.headline(r), 0)
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
		p.Table(policyFigures(r.Policies))
	}
	p.changes("Largest cost changes", r.Logged.ByCost)
	p.changes("Largest changes in predicted quality", r.Logged.ByQuality)
	p.WriteString("\n")
	p.Paragraph(caution, 0)
}

func (p *backtestPage) headline(r *replay.Report) string {
	if r.Considered == 0 {
		return "No requests match."
	}
	text := fmt.Sprintf("%s from %s to %s, %s of them re-run", cli.Plural(int(r.Considered), "request"), p.at(r.From), p.at(r.To), cli.Count(r.Decided))
	if r.Limited {
		text += "; older requests were not included"
	}
	return text + "."
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
	p.Field("routes", fmt.Sprintf("%s (%s) use another model, %s the same model at another provider, %s are unchanged", cli.Count(c.Changed), portion(c.Changed, total), cli.Count(c.Moved), cli.Count(c.Unchanged)))
	for _, r := range c.Rejected {
		p.Field("rejected", strings.TrimSuffix(fmt.Sprintf("%s with %s by policy %s", cli.Count(r.Requests), r.Code, r.Policy), " by policy "))
	}
	if c.Accepted > 0 {
		p.Field("accepted", cli.Count(c.Accepted)+" that were rejected before")
	}
	p.Field("cost", costChange(&c.Cost))
	p.Field("quality", qualityChange(&c.Quality))
	if c.Measured != nil {
		p.Field("measured", measuredChange(c.Measured))
		if c.Measured.Warning != "" {
			p.Field("warning", c.Measured.Warning)
		}
	}
	if len(c.Routes) > 0 {
		p.WriteString("\n")
		p.Table(flows(c.Routes))
	}
}

// portion formats part as a percentage of whole.
func portion(part, whole int64) string {
	if whole == 0 {
		return cli.Dash
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64) + " %"
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

func qualityChange(q *replay.Quality) string {
	if q.Requests == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%s → %s, change %+.4f (95 %%: %+.4f to %+.4f) over %s", chance(q.Before), chance(q.After), q.Change, q.Low, q.High, cli.Plural(int(q.Requests), "request"))
}

// measuredChange formats the quality that is estimated from ratings.
func measuredChange(m *replay.Measured) string {
	if m.Change == nil {
		return "unknown"
	}
	return fmt.Sprintf("%s → %s, change %+.4f (95 %%: %+.4f to %+.4f) over %s", chance(m.Before.Value), chance(m.After.Value), m.Change.Value, m.Change.Low, m.Change.High, cli.Plural(int(m.Requests), "rated request"))
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
		t.Row(refusedOr(from), refusedOr(to), cli.Count(f.Requests), moreOrLess(f.Change, f.Priced), cli.Count(f.Priced))
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

// moreOrLess formats a cost change with its sign, or a dash if no request has a price.
func moreOrLess(a money.Amount, priced int64) string {
	switch {
	case priced == 0:
		return cli.Dash
	case a > 0:
		return "+" + cli.Dollars(a)
	}
	return cli.Dollars(a)
}

func policyFigures(list []replay.PolicyFigures) *cli.Table {
	t := &cli.Table{Columns: []cli.Column{
		{Title: "POLICY", Soft: true}, {Title: "MATCHED", Right: true}, {Title: "DECIDED", Right: true}, {Title: "DENIED", Right: true}, {Title: "SAVED", Right: true},
	}}
	for _, f := range list {
		saved := cli.Dash
		if f.Priced > 0 {
			saved = cli.Dollars(f.Saved)
		}
		t.Row(f.Name, cli.Count(f.Matched), cli.Count(f.Decided), cli.Count(f.Denied), saved)
	}
	return t
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
