package main

import (
	"fmt"
	"strconv"

	"fairlead/internal/predict/protocol"
)

// showReport puts the judgement out as tables.
func showReport(c *console, o *options, r protocol.Report) error {
	t := &table{columns: []column{
		{title: "SOURCE"},
		{title: "STRONG", soft: true},
		{title: "WEAK", soft: true},
		{title: "PROMPTS", right: true},
		{title: "LEAD", right: true},
		{title: "APGR", right: true},
		{title: "90 %", right: true},
		{title: "CPT50", right: true},
		{title: "CPT80", right: true},
		{title: "PUBLISHED", right: true},
	}}
	skipped := 0
	for _, p := range r.Pairs {
		if p.Skipped {
			skipped++
			continue
		}
		published := unknown
		if p.Published > 0 {
			published = thousandths(p.Published)
		}
		t.add(cell{text: p.Source}, cell{text: p.Strong}, cell{text: p.Weak}, cell{text: count(int64(p.Prompts))},
			cell{text: fmt.Sprintf("%+.3f", p.Lead)}, cell{text: thousandths(p.APGR)},
			cell{text: thousandths(p.Low) + "–" + thousandths(p.High)}, cell{text: share(p.CPT50)}, cell{text: share(p.CPT80)}, cell{text: published})
	}
	if p := r.Pooled; p != nil {
		t.add(cell{text: "pooled"}, cell{text: unknown}, cell{text: unknown}, cell{text: count(int64(p.Prompts))}, cell{text: unknown},
			cell{text: thousandths(p.APGR)}, cell{text: unknown}, cell{text: share(p.CPT50)}, cell{text: share(p.CPT80)}, cell{text: unknown})
	}
	if err := c.writeTable(o, t); err != nil {
		return err
	}
	if skipped > 0 {
		c.say(o, "%s left out: too few prompts with outcomes and predictions of both models", plural(skipped, "pair"))
	}
	return showFrontiers(c, o, r.Costed)
}

func showFrontiers(c *console, o *options, results []protocol.FrontierResult) error {
	if len(results) == 0 {
		return nil
	}
	t := &table{columns: []column{
		{title: "COSTED"},
		{title: "PROMPTS", right: true},
		{title: "MODELS", right: true},
		{title: "AIQ", right: true},
		{title: "SINGLE MODELS", right: true},
		{title: "GAIN", right: true},
		{title: "ORACLE", right: true},
	}}
	for _, f := range results {
		t.add(cell{text: f.Name}, cell{text: count(int64(f.Prompts))}, cell{text: strconv.Itoa(len(f.Models))},
			cell{text: fmt.Sprintf("%.4f", f.Router)}, cell{text: fmt.Sprintf("%.4f", f.Zero)},
			cell{text: fmt.Sprintf("%+.4f", f.Router-f.Zero)}, cell{text: fmt.Sprintf("%.4f", f.Oracle)})
	}
	if err := c.write("\n"); err != nil {
		return err
	}
	return c.writeTable(o, t)
}

func thousandths(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

func share(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) + " %" }
