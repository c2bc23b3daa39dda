package router

import (
	"fmt"
	"strconv"

	"fairlead/internal/cli"
	"fairlead/internal/predict/protocol"
)

// showReport prints the evaluation as tables.
func showReport(c *cli.Console, o *cli.Options, r protocol.Report) error {
	t := &cli.Table{Columns: []cli.Column{
		{Title: "SOURCE"},
		{Title: "STRONG", Soft: true},
		{Title: "WEAK", Soft: true},
		{Title: "PROMPTS", Right: true},
		{Title: "LEAD", Right: true},
		{Title: "APGR", Right: true},
		{Title: "90 %", Right: true},
		{Title: "CPT50", Right: true},
		{Title: "CPT80", Right: true},
		{Title: "PUBLISHED", Right: true},
	}}
	skipped := 0
	for _, p := range r.Pairs {
		if p.Skipped {
			skipped++
			continue
		}
		published := cli.Dash
		if p.Published > 0 {
			published = thousandths(p.Published)
		}
		t.Add(cli.Cell{Text: p.Source}, cli.Cell{Text: p.Strong}, cli.Cell{Text: p.Weak}, cli.Cell{Text: cli.Count(int64(p.Prompts))},
			cli.Cell{Text: fmt.Sprintf("%+.3f", p.Lead)}, cli.Cell{Text: thousandths(p.APGR)},
			cli.Cell{Text: thousandths(p.Low) + "–" + thousandths(p.High)}, cli.Cell{Text: share(p.CPT50)}, cli.Cell{Text: share(p.CPT80)}, cli.Cell{Text: published})
	}
	if p := r.Pooled; p != nil {
		t.Add(cli.Cell{Text: "pooled"}, cli.Cell{Text: cli.Dash}, cli.Cell{Text: cli.Dash}, cli.Cell{Text: cli.Count(int64(p.Prompts))}, cli.Cell{Text: cli.Dash},
			cli.Cell{Text: thousandths(p.APGR)}, cli.Cell{Text: cli.Dash}, cli.Cell{Text: share(p.CPT50)}, cli.Cell{Text: share(p.CPT80)}, cli.Cell{Text: cli.Dash})
	}
	if err := c.PrintTable(o, t); err != nil {
		return err
	}
	if skipped > 0 {
		c.Infof(o, "%s excluded: too few prompts with outcomes and predictions of both models", cli.Plural(skipped, "pair"))
	}
	return showFrontiers(c, o, r.Costed)
}

func showFrontiers(c *cli.Console, o *cli.Options, results []protocol.FrontierResult) error {
	if len(results) == 0 {
		return nil
	}
	t := &cli.Table{Columns: []cli.Column{
		{Title: "COSTED"},
		{Title: "PROMPTS", Right: true},
		{Title: "MODELS", Right: true},
		{Title: "AIQ", Right: true},
		{Title: "SINGLE MODELS", Right: true},
		{Title: "GAIN", Right: true},
		{Title: "ORACLE", Right: true},
	}}
	for _, f := range results {
		t.Add(cli.Cell{Text: f.Name}, cli.Cell{Text: cli.Count(int64(f.Prompts))}, cli.Cell{Text: strconv.Itoa(len(f.Models))},
			cli.Cell{Text: fmt.Sprintf("%.4f", f.Router)}, cli.Cell{Text: fmt.Sprintf("%.4f", f.Zero)},
			cli.Cell{Text: fmt.Sprintf("%+.4f", f.Router-f.Zero)}, cli.Cell{Text: fmt.Sprintf("%.4f", f.Oracle)})
	}
	if err := c.Print("\n"); err != nil {
		return err
	}
	return c.PrintTable(o, t)
}

func thousandths(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

func share(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) + " %" }
