package requests

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/decisions"
	"fairlead.dev/internal/requestlog"
)

// estimate is printed with savings.
const estimate = "Estimate: same tokens at list prices. Another model might have produced a different number of tokens."

// classNames lists the rows of a bill in order. Reasoning is part of output and is also shown separately.
var classNames = []struct{ class, name string }{
	{"input", "uncached input"},
	{"input_audio", "audio input"},
	{"cache_read", "cache read"},
	{"cache_write", "cache write"},
	{"cache_write_1h", "cache write, 1 h"},
	{"output", "output"},
	{"output_audio", "audio output"},
	{"reasoning", "  of which reasoning"},
	{catalog.WebSearch, "web searches"},
	{"request", "per request"},
	{aboveHold, "above the hold, not charged"},
	{brokenAttempts, "interrupted attempts"},
}

// brokenAttempts is the row for the output of targets that failed before another target continued the response.
const brokenAttempts = "broken_attempts"

// aboveHold is the row that reduces the total to the amount held for the request.
const aboveHold = "above_hold"

func (p *entryPage) money(e *requestlog.Entry) {
	p.Section("Tokens and cost")
	t := &cli.Table{Columns: []cli.Column{
		{Title: "CLASS"}, {Title: "TOKENS", Right: true}, {Title: "PER MILLION", Right: true}, {Title: "COST", Right: true},
	}}
	compared := e.BaselineModel != ""
	if compared {
		t.Columns = append(t.Columns, cli.Column{Title: "BASELINE PER MILLION", Right: true}, cli.Column{Title: "BASELINE COST", Right: true})
	}
	add := func(texts ...string) {
		if !compared {
			texts = texts[:4]
		}
		t.Row(texts...)
	}
	u := e.Usage
	classTokens := map[string]int64{
		"input": u.Input - u.AudioInput, "input_audio": u.AudioInput, "cache_read": u.CacheRead,
		"cache_write": u.CacheWrite - u.CacheWriteLong, "cache_write_1h": u.CacheWriteLong,
		"output": u.Output - u.AudioOutput, "output_audio": u.AudioOutput, "reasoning": u.Reasoning,
	}
	for _, c := range classNames {
		own, base := billRow(e.Bill, c.class), billRow(e.BaselineBill, c.class)
		tokens := classTokens[c.class]
		switch {
		case c.class == "reasoning" && tokens > 0:
			add(c.name, cli.Count(tokens), "", "", "", "")
		case tokens == 0 && own == nil && base == nil && (c.class == "input_audio" || c.class == "cache_write_1h" || c.class == "output_audio"):
		case c.class == aboveHold && own != nil:
			add(c.name, "", "", rowAmount(own), "", "")
		case c.class == brokenAttempts && own != nil:
			add(c.name, cli.Count(own.Tokens), "", rowAmount(own), "", "")
		case c.class == catalog.WebSearch:
			if e.Usage.Searches > 0 {
				add(c.name, cli.Count(e.Usage.Searches), "", searchAmount(e.Bill), "", searchAmount(e.BaselineBill))
			}
		case c.class == "request" && (own != nil || base != nil):
			add(c.name, "", "", rowAmount(own), "", rowAmount(base))
		case c.class != "reasoning" && c.class != "request" && c.class != brokenAttempts && c.class != aboveHold:
			add(c.name, cli.Count(tokens), rowRate(own), rowAmount(own), rowRate(base), rowAmount(base))
		}
	}
	add("total", cli.Count(e.Usage.Total()), "", cli.Cost(e.Cost), "", cli.Cost(e.BaselineCost))
	p.Table(t)
	p.saving(e)
}

func (p *entryPage) saving(e *requestlog.Entry) {
	if saved, ok := e.Saved(); ok {
		text := cli.Dollars(saved)
		if *e.BaselineCost > 0 {
			text += " (" + cli.CostChange(saved, *e.BaselineCost) + ")"
		}
		p.Field("saved", fmt.Sprintf("%s against %s, %s", text, cli.OrDash(e.BaselineModel), decisions.BaselineSource(e.BaselineSource)))
		p.Field("", estimate)
	}
	if e.Cost == nil {
		p.Field("cost", "unknown: no price set for "+e.Model)
	}
	if b := e.Bill; b != nil {
		prices := cli.OrDash(b.Source)
		if b.AsOf != "" {
			prices += ", " + b.AsOf
		}
		if b.Card != "" && b.Card != "base" { // the price tier that was applied
			prices += " (" + b.Card + ")"
		}
		p.Field("prices", prices)
		for _, class := range b.Excluded {
			switch class {
			case catalog.WebSearch:
				p.Field("", "Web search fees are not included: no price per search is known for "+e.Model+" at "+e.Provider+".")
			case bill.AudioInput:
				p.Field("", "The audio input is not included: no price is known for "+e.Provider+".")
			case bill.AudioOutput:
				p.Field("", "The audio output is not included: no price is known for "+e.Provider+".")
			case bill.Transcription:
				p.Field("", "The transcriptions are not included: no price is known for "+e.Provider+".")
			}
		}
	}
	if e.Usage.Estimated {
		p.Field("tokens", "counted by the gateway: the provider reported no usage, or implausible usage")
	}
}

func billRow(b *catalog.Bill, class string) *catalog.Row {
	if b == nil {
		return nil
	}
	i := slices.IndexFunc(b.Rows, func(r catalog.Row) bool { return r.Class == class })
	if i < 0 {
		return nil
	}
	return &b.Rows[i]
}

func rowRate(r *catalog.Row) string {
	if r == nil {
		return cli.Dash
	}
	return cli.Rate(&r.Rate)
}

func rowAmount(r *catalog.Row) string {
	if r == nil {
		return cli.Dash
	}
	return cli.Dollars(r.Amount)
}

// searchAmount returns the fee for web searches, or a dash for an unknown fee or a request without a bill.
func searchAmount(b *catalog.Bill) string {
	if b != nil && !slices.Contains(b.Excluded, catalog.WebSearch) && billRow(b, catalog.WebSearch) == nil {
		return cli.Dollars(0) // the fee is part of another row
	}
	return rowAmount(billRow(b, catalog.WebSearch))
}

// savedText compares the cost with the baseline.
func savedText(e *requestlog.Entry) string {
	saved, ok := e.Saved()
	if !ok || *e.BaselineCost <= 0 || e.BaselineModel == e.Model {
		return ""
	}
	baseline := fmt.Sprintf("%s (%s)", e.BaselineModel, cli.Dollars(*e.BaselineCost))
	percent := strings.TrimLeft(cli.CostChange(saved, *e.BaselineCost), "+-")
	switch {
	case saved == 0:
		return ", as much as " + baseline
	case saved < 0:
		return ", " + percent + " more than " + baseline
	}
	return ", " + percent + " less than " + baseline
}
