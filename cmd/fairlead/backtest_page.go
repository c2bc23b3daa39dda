package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fairlead/internal/money"
	"fairlead/internal/replay"
)

// backtestPage writes the report of a backtest for people.
type backtestPage struct {
	page
	at func(time.Time) string
}

// caution stands beside what a backtest says.
const caution = "Costs are for the tokens that were really used: another model might have written more or less. Quality is what the predictor expects, not what anybody said of an answer."

func (p *backtestPage) report(r *replay.Report) {
	p.paragraph(p.headline(r), 0)
	p.WriteString("\n")
	p.fact("tried", rulesText(r))
	for _, s := range r.Skipped {
		p.fact("not decided", count(s.Requests)+": "+s.Words)
	}
	if r.Decided == 0 {
		return
	}
	p.comparison("Against what was really chosen", &r.Logged)
	if r.InLive != nil {
		p.comparison("Against what is in force", r.InLive)
	}
	if len(r.Policies) > 0 {
		p.section("Policies")
		p.table(policyFigures(r.Policies))
	}
	p.changes("Largest changes of cost, against what was chosen", r.Logged.ByCost)
	p.changes("Largest changes of predicted quality, against what was chosen", r.Logged.ByQuality)
	p.WriteString("\n")
	p.paragraph(caution, 0)
}

func (p *backtestPage) headline(r *replay.Report) string {
	if r.Considered == 0 {
		return "No requests match."
	}
	text := fmt.Sprintf("%s from %s to %s, %s of them decided anew", plural(int(r.Considered), "request"), p.at(r.From), p.at(r.To), count(r.Decided))
	if r.Limited {
		text += "; older ones were left out"
	}
	return text + "."
}

func rulesText(r *replay.Report) string {
	if r.Same {
		return "what is in force"
	}
	text := "policies " + or(r.Draft.Versions.Policy)
	if r.Draft.Versions.Policy == r.Live.Versions.Policy {
		text = "the policies in force"
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
	p.section(title)
	total := c.Changed + c.Moved + c.Unchanged + c.Accepted
	for _, r := range c.Refused {
		total += r.Requests
	}
	p.fact("routes", fmt.Sprintf("%s (%s) go to another model, %s to the same at another provider, %s stay", count(c.Changed), portion(c.Changed, total), count(c.Moved), count(c.Unchanged)))
	for _, r := range c.Refused {
		p.fact("refused", strings.TrimSuffix(fmt.Sprintf("%s with %s by policy %s", count(r.Requests), r.Code, r.Policy), " by policy "))
	}
	if c.Accepted > 0 {
		p.fact("accepted", count(c.Accepted)+" that were refused")
	}
	p.fact("cost", costChange(&c.Cost))
	p.fact("quality", qualityChange(&c.Quality))
	if len(c.Routes) > 0 {
		p.WriteString("\n")
		p.table(flows(c.Routes))
	}
}

// portion writes a part of a whole in percent.
func portion(part, whole int64) string {
	if whole == 0 {
		return unknown
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64) + " %"
}

func costChange(c *replay.Costs) string {
	if c.Priced == 0 {
		return "unknown"
	}
	text := fmt.Sprintf("%s → %s (%s)", dollars(c.Before), dollars(c.After), change(c.Before.Sub(c.After), c.Before))
	if c.Baseline != nil {
		text += ", baseline " + dollars(*c.Baseline)
	}
	return text + fmt.Sprintf("; known for %s %% of requests", strconv.FormatFloat(100*c.Coverage, 'f', 1, 64))
}

func qualityChange(q *replay.Quality) string {
	if q.Requests == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%s → %s, change %+.4f (95 %%: %+.4f to %+.4f) over %s", chance(q.Before), chance(q.After), q.Change, q.Low, q.High, plural(int(q.Requests), "request"))
}

func flows(list []replay.Flow) *table {
	t := &table{columns: []column{
		{title: "FROM", soft: true}, {title: "TO", soft: true}, {title: "REQUESTS", right: true}, {title: "COST CHANGE", right: true}, {title: "PRICED", right: true},
	}}
	for _, f := range list {
		from, to := f.From, f.To
		if from == replay.Others {
			from, to = "others", "others"
		}
		t.row(refusedOr(from), refusedOr(to), count(f.Requests), moreOrLess(f.Change, f.Priced), count(f.Priced))
	}
	return t
}

// refusedOr is the model, or that there is none.
func refusedOr(model string) string {
	if model == "" {
		return "refused"
	}
	return model
}

// moreOrLess writes a change with its sign; without anything priced it is unknown.
func moreOrLess(a money.Amount, priced int64) string {
	switch {
	case priced == 0:
		return unknown
	case a > 0:
		return "+" + dollars(a)
	}
	return dollars(a)
}

func policyFigures(list []replay.PolicyFigures) *table {
	t := &table{columns: []column{
		{title: "POLICY", soft: true}, {title: "MATCHED", right: true}, {title: "DECIDED", right: true}, {title: "DENIED", right: true}, {title: "SAVED", right: true},
	}}
	for _, f := range list {
		saved := unknown
		if f.Priced > 0 {
			saved = dollars(f.Saved)
		}
		t.row(f.Name, count(f.Matched), count(f.Decided), count(f.Denied), saved)
	}
	return t
}

func (p *backtestPage) changes(title string, list []replay.Change) {
	if len(list) == 0 {
		return
	}
	p.section(title)
	t := &table{columns: []column{
		{title: "REQUEST"},
		{title: "FROM", soft: true},
		{title: "TO", soft: true},
		{title: "COST", right: true},
		{title: "THEN", right: true},
		{title: "CHANCE", right: true},
		{title: "THEN", right: true},
		{title: "POLICY", soft: true},
	}}
	for i := range list {
		c := &list[i]
		t.row(c.RequestID, c.From, c.To, paid(c.CostBefore), paid(c.CostAfter), chanceOr(c.ChanceBefore), chanceOr(c.ChanceAfter), or(c.Policy))
	}
	p.table(t)
}

func chanceOr(f *float64) string {
	if f == nil {
		return unknown
	}
	return chance(*f)
}
