package router

import (
	"fmt"
	"math"
	"strconv"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/predict/protocol"
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
	if len(r.Calibration) > 0 || skipped < len(r.Pairs) || len(r.Behaviour) == 0 {
		if err := c.PrintTable(o, t); err != nil {
			return err
		}
	}
	if skipped > 0 && skipped < len(r.Pairs) {
		c.Infof(o, "%s excluded: too few prompts with outcomes and predictions of both models", cli.Plural(skipped, "pair"))
	}
	if err := showFrontiers(c, o, r.Costed); err != nil {
		return err
	}
	if err := showAuto(c, o, r.Auto); err != nil {
		return err
	}
	if err := showCalibration(c, o, r.Calibration); err != nil {
		return err
	}
	if err := showLengths(c, o, r.Lengths); err != nil {
		return err
	}
	return showBehaviour(c, o, r.Behaviour)
}

// showLengths prints the error factors of expected outputs and costs.
func showLengths(c *cli.Console, o *cli.Options, results []protocol.LengthResult) error {
	if len(results) == 0 {
		return nil
	}
	t := &cli.Table{Columns: []cli.Column{
		{Title: "LENGTHS"},
		{Title: "UNIT"},
		{Title: "COUNT", Right: true},
		{Title: "CONSTANT", Right: true},
		{Title: "P90", Right: true},
		{Title: "EXPECTED", Right: true},
		{Title: "P90", Right: true},
		{Title: "CORRECTED", Right: true},
		{Title: "P90", Right: true},
	}}
	for _, r := range results {
		t.Add(cli.Cell{Text: r.Source}, cli.Cell{Text: r.Unit}, cli.Cell{Text: cli.Count(int64(r.Count))}, cli.Cell{Text: factor(r.Constant.Median)},
			cli.Cell{Text: factor(r.Constant.P90)}, cli.Cell{Text: factor(r.Expected.Median)}, cli.Cell{Text: factor(r.Expected.P90)},
			cli.Cell{Text: factor(r.Corrected.Median)}, cli.Cell{Text: factor(r.Corrected.P90)})
	}
	if err := c.Print("\n"); err != nil {
		return err
	}
	return c.PrintTable(o, t)
}

func factor(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// showBehaviour prints for each relation the share of request groups whose decisions satisfy it.
func showBehaviour(c *cli.Console, o *cli.Options, results []protocol.BehaviourResult) error {
	if len(results) == 0 {
		return nil
	}
	t := &cli.Table{Columns: []cli.Column{{Title: "BEHAVIOUR"}, {Title: "GROUPS", Right: true}, {Title: "SATISFIED", Right: true}}}
	for _, r := range results {
		t.Add(cli.Cell{Text: r.Relation}, cli.Cell{Text: cli.Count(int64(r.Items))}, cli.Cell{Text: share(float64(r.Passed) / float64(r.Items))})
	}
	if err := c.Print("\n"); err != nil {
		return err
	}
	if err := c.PrintTable(o, t); err != nil {
		return err
	}
	for _, r := range results {
		for _, failed := range r.Failed {
			c.Infof(o, "not satisfied: %s", failed)
		}
	}
	return nil
}

// showAuto prints the results of auto next to the results of fixed choices. Each result is a mean quality and a cost in dollars per
// thousand prompts.
func showAuto(c *cli.Console, o *cli.Options, results []protocol.AutoResult) error {
	if len(results) == 0 {
		return nil
	}
	t := &cli.Table{Columns: []cli.Column{
		{Title: "AUTO"},
		{Title: "PROMPTS", Right: true},
		{Title: "MODELS", Right: true},
		{Title: "QUALITY", Right: true},
		{Title: "$/1000", Right: true},
		{Title: "FIXED MIX", Right: true},
		{Title: "GAIN", Right: true},
		{Title: "90 %", Right: true},
		{Title: "CHEAPEST", Right: true},
		{Title: "BEST", Right: true},
		{Title: "RANDOM", Right: true},
		{Title: "ORACLE", Right: true},
		{Title: "FLIPS", Right: true},
	}}
	for i := range results {
		r := &results[i]
		t.Add(cli.Cell{Text: r.Name}, cli.Cell{Text: cli.Count(int64(r.Prompts))}, cli.Cell{Text: strconv.Itoa(len(r.Models))},
			cli.Cell{Text: thousandths(r.Auto.Quality)}, cli.Cell{Text: perThousand(r.Auto.Cost)}, cli.Cell{Text: thousandths(r.Mix)},
			cli.Cell{Text: fmt.Sprintf("%+.3f", r.Gain)}, cli.Cell{Text: fmt.Sprintf("%+.3f to %+.3f", r.Low, r.High)},
			cli.Cell{Text: spent(r.Cheapest)}, cli.Cell{Text: spent(r.Best)}, cli.Cell{Text: spent(r.Random)}, cli.Cell{Text: spent(r.Oracle)}, cli.Cell{Text: share(r.Flips)})
	}
	if err := c.Print("\n"); err != nil {
		return err
	}
	return c.PrintTable(o, t)
}

func spent(s protocol.Spend) string { return thousandths(s.Quality) + " at " + perThousand(s.Cost) }

func perThousand(dollars float64) string { return strconv.FormatFloat(1000*dollars, 'g', 3, 64) }

// showCalibration prints the predicted and the observed success of each model, by source.
func showCalibration(c *cli.Console, o *cli.Options, list []protocol.Calibration) error {
	if len(list) == 0 {
		return nil
	}
	t := &cli.Table{Columns: []cli.Column{
		{Title: "CALIBRATION"},
		{Title: "SOURCE"},
		{Title: "PROMPTS", Right: true},
		{Title: "PREDICTED", Right: true},
		{Title: "OBSERVED", Right: true},
		{Title: "DIFFERENCE", Right: true},
	}}
	sum := 0.0
	for _, m := range list {
		sum += math.Abs(m.Predicted - m.Observed)
		t.Add(cli.Cell{Text: m.Model}, cli.Cell{Text: m.Source}, cli.Cell{Text: cli.Count(int64(m.Prompts))}, cli.Cell{Text: thousandths(m.Predicted)},
			cli.Cell{Text: thousandths(m.Observed)}, cli.Cell{Text: fmt.Sprintf("%+.3f", m.Predicted-m.Observed)})
	}
	if err := c.Print("\n"); err != nil {
		return err
	}
	if err := c.PrintTable(o, t); err != nil {
		return err
	}
	c.Infof(o, "mean difference of predicted and observed success: %s", thousandths(sum/float64(len(list))))
	return nil
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
