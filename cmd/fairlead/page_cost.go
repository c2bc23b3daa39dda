package main

import (
	"fmt"
	"slices"
	"strings"

	"fairlead/internal/catalog"
	"fairlead/internal/llm"
	"fairlead/internal/requestlog"
)

// estimate is said beside every saving.
const estimate = "Estimate: same tokens at list prices; another model might have written more or less."

// classNames are the rows of a bill in their order. Reasoning is a part of output that is shown apart.
var classNames = []struct{ class, name string }{
	{"input", "uncached input"},
	{"input_audio", "sound heard"},
	{"cache_read", "cache read"},
	{"cache_write", "cache write"},
	{"cache_write_1h", "cache write, 1 h"},
	{"output", "output"},
	{"output_audio", "sound spoken"},
	{"reasoning", "  of it reasoning"},
	{"request", "per request"},
	{aboveHold, "above the hold, not charged"},
	{brokenAttempts, "attempts that broke off"},
}

// brokenAttempts is the row of what was delivered by targets that broke off before another one went on.
const brokenAttempts = "broken_attempts"

// aboveHold is the row that lowers a bill to what was held for the request.
const aboveHold = "above_hold"

func (p *page) money(e *requestlog.Entry) {
	p.section("Tokens and cost")
	t := &table{columns: []column{
		{title: "CLASS"}, {title: "TOKENS", right: true}, {title: "PER MILLION", right: true}, {title: "COST", right: true},
	}}
	compared := e.BaselineModel != ""
	if compared {
		t.columns = append(t.columns, column{title: "BASELINE PER MILLION", right: true}, column{title: "BASELINE COST", right: true})
	}
	add := func(texts ...string) {
		if !compared {
			texts = texts[:4]
		}
		t.row(texts...)
	}
	for _, c := range classNames {
		own, base := billRow(e.Bill, c.class), billRow(e.BaselineBill, c.class)
		tokens := classTokens(e.Usage, c.class)
		switch {
		case c.class == "reasoning" && tokens > 0:
			add(c.name, count(tokens), "", "", "", "")
		case tokens == 0 && own == nil && base == nil && (c.class == "input_audio" || c.class == "cache_write_1h" || c.class == "output_audio"):
		case c.class == aboveHold && own != nil:
			add(c.name, "", "", rowAmount(own), "", "")
		case c.class == brokenAttempts && own != nil:
			add(c.name, count(own.Tokens), "", rowAmount(own), "", "")
		case c.class == "request" && (own != nil || base != nil):
			add(c.name, "", "", rowAmount(own), "", rowAmount(base))
		case c.class != "reasoning" && c.class != "request" && c.class != brokenAttempts && c.class != aboveHold:
			add(c.name, count(tokens), rowRate(own), rowAmount(own), rowRate(base), rowAmount(base))
		}
	}
	add("total", count(e.Usage.Total()), "", paid(e.Cost), "", paid(e.BaselineCost))
	p.table(t)
	p.saving(e)
}

func (p *page) saving(e *requestlog.Entry) {
	if saved, ok := e.Saved(); ok {
		text := dollars(saved)
		if *e.BaselineCost > 0 {
			text += " (" + change(saved, *e.BaselineCost) + ")"
		}
		p.fact("saved", fmt.Sprintf("%s against %s, %s", text, or(e.BaselineModel), baselineSource(e.BaselineSource)))
		p.fact("", estimate)
	}
	if e.Cost == nil {
		p.fact("cost", "unknown: nobody has told the price of "+e.Model)
	}
	if e.Bill != nil {
		p.fact("prices", pricesText(e.Bill))
	}
	if e.Usage.Estimated {
		p.fact("tokens", "our own count: the provider told none, or an impossible one")
	}
}

// pricesText says where the prices of a bill come from, and which card of them it was.
func pricesText(b *catalog.Bill) string {
	text := or(b.Source)
	if b.AsOf != "" {
		text += ", " + b.AsOf
	}
	if b.Card != "" && b.Card != "base" {
		text += " (" + b.Card + ")"
	}
	return text
}

// baselineSource says why a model is the baseline.
func baselineSource(source string) string {
	texts := map[string]string{
		"caller": "the model that the caller named", "header": "the model that a header named", "policy": "the baseline of the policy",
		"key": "the baseline of the key", "default": "the default model", "priciest": "the priciest candidate",
	}
	if text, ok := texts[source]; ok {
		return text
	}
	return "for a reason that is not known"
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
		return unknown
	}
	return rate(&r.Rate)
}

func rowAmount(r *catalog.Row) string {
	if r == nil {
		return unknown
	}
	return dollars(r.Amount)
}

func classTokens(u llm.Usage, class string) int64 {
	return map[string]int64{
		"input": u.Input - u.AudioInput, "input_audio": u.AudioInput, "cache_read": u.CacheRead,
		"cache_write": u.CacheWrite - u.CacheWriteLong, "cache_write_1h": u.CacheWriteLong,
		"output": u.Output - u.AudioOutput, "output_audio": u.AudioOutput, "reasoning": u.Reasoning,
	}[class]
}

// savedText says how the cost compares with the baseline.
func savedText(e *requestlog.Entry) string {
	saved, ok := e.Saved()
	if !ok || *e.BaselineCost <= 0 || e.BaselineModel == e.Model {
		return ""
	}
	baseline := fmt.Sprintf("%s (%s)", e.BaselineModel, dollars(*e.BaselineCost))
	percent := strings.TrimLeft(change(saved, *e.BaselineCost), "+-")
	switch {
	case saved == 0:
		return ", as much as " + baseline
	case saved < 0:
		return ", " + percent + " more than " + baseline
	}
	return ", " + percent + " less than " + baseline
}
