package decisions

import (
	"fmt"
	"strconv"
	"strings"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/route"
)

// Page formats a decision as text.
type Page struct{ cli.Page }

// explanation writes the reason and the outcome of a decision, and the decision.
func (p *Page) explanation(d *route.Decision, refusal *llm.Error) {
	if d.Because != "" {
		p.Paragraph(d.Because, 0)
	}
	p.Paragraph(outcome(d, refusal), 0)
	p.choice(d)
	p.Section("Request")
	p.request(d)
}

// Decision writes the reason for a decision, the data it was computed from and the candidates that explain it.
func (p *Page) Decision(d *route.Decision) {
	if d.Because != "" {
		p.Field("because", d.Because)
	}
	p.request(d)
	p.choice(d)
}

// choice writes the candidates that explain a decision, the policies and the excluded targets.
func (p *Page) choice(d *route.Decision) {
	if rows := d.Rows(); len(rows) > 0 {
		p.Section("Choice")
		p.Table(choiceTable(rows))
	}
	if len(d.Policies) > 0 {
		p.Section("Policies")
		for _, hit := range d.Policies {
			result, text := "skipped", hit.Reason() // text is the condition that did not match
			if hit.Matched {
				result, text = "matched", hit.Effect()
			}
			p.Field(result, strings.TrimSuffix(hit.Name+": "+text, ": "))
		}
	}
	excluded := 0
	table := &cli.Table{Columns: []cli.Column{{Title: "TARGET", Soft: true}, {Title: "CODE"}, {Title: "REASON"}}}
	for i := range d.Candidates {
		if c := &d.Candidates[i]; c.Excluded != nil {
			table.Row(c.Target, string(c.Excluded.Code), c.Excluded.Reason())
			excluded++
		}
	}
	if excluded > 0 {
		p.Section("Excluded")
		p.Table(table)
	}
}

// outcome describes the outcome of a decision in one sentence.
func outcome(d *route.Decision, refusal *llm.Error) string {
	if refusal != nil {
		text := "Rejected (" + refusal.Kind.Code() + "): " + refusal.Message
		if d.Policy != "" {
			text += " Rejected by policy " + d.Policy + "."
		}
		return text
	}
	first := &d.Candidates[0]
	text := fmt.Sprintf("Routed to %s (%s)", first.Target, d.Kind)
	if d.Policy != "" {
		text += " by policy " + d.Policy
	}
	if d.Alone != "" {
		text += ". Without policies: " + d.Alone
	}
	return fmt.Sprintf("%s. Expected cost: %s.", text, cli.Cost(first.Price))
}

// request writes the data from which the decision was computed.
func (p *Page) request(d *route.Decision) {
	in := &d.Input
	if in.Features.Task != "" {
		task := fmt.Sprintf("%s, difficulty %s of 3", in.Features.Task, strconv.FormatFloat(in.Features.Difficulty, 'f', 1, 64))
		if in.Features.Language != "" {
			task += ", language " + in.Features.Language
		}
		p.Field("task", fmt.Sprintf("%s; %s %% of its words are known", task, strconv.FormatFloat(100*in.Features.Known, 'f', 0, 64)))
	}
	p.Field("features", features(in))
	if in.Turns > 0 {
		p.Field("turns", strings.TrimSuffix(fmt.Sprintf("%s so far, the latest from %s", cli.Plural(in.Turns, "turn"), in.Last), ", the latest from "))
	}
	for _, a := range d.Adjustments {
		p.Field("adjusted", strings.ReplaceAll(string(a.Code), "_", " ")+": "+a.Reason)
	}
	if d.Baseline != nil {
		p.Field("baseline", d.Baseline.Model+", "+BaselineSource(d.Baseline.Source))
	}
	if d.MaxOutput > 0 {
		p.Field("limit", "policies allow "+cli.Count(d.MaxOutput)+" output tokens")
	}
	if d.OmitBodies {
		p.Field("bodies", "not stored: disabled by a policy")
	}
	v := d.Versions
	p.Field("versions", fmt.Sprintf("router %s, predictor %s, catalog %s, policies %s, feedback %s", cli.OrDash(v.Router), cli.OrDash(v.Predictor), cli.OrDash(v.Catalog), cli.OrDash(v.Policy), cli.OrDash(v.Feedback)))
}

// choiceTable lists the candidates that explain the choice.
func choiceTable(rows []route.Row) *cli.Table {
	t := &cli.Table{Columns: []cli.Column{
		{Title: "ROLE"},
		{Title: "MODEL", Soft: true},
		{Title: "PREDICTED QUALITY", Right: true},
		{Title: "EXPECTED COST", Right: true},
	}}
	for i := range rows {
		c := &rows[i].Candidate
		look, quality := cli.Plain, cli.Dash
		if c.Rank == 1 {
			look = cli.Green
		}
		target := c.Target
		if c.Effort != "" {
			target += " (" + c.Effort + " effort)"
		}
		if c.Quality != 0 {
			quality = percent(c.Quality) + " ± " + percent(c.Spread) + " %"
		}
		t.Add(cli.Cell{Text: rows[i].Role}, cli.Cell{Text: target, Paint: look}, cli.Cell{Text: quality}, cli.Cell{Text: cli.Cost(c.Price)})
	}
	return t
}

// chance formats a success probability with three decimals.
func chance(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) }

// percent formats a probability as a whole percentage.
func percent(f float64) string { return strconv.FormatFloat(100*f, 'f', 0, 64) }

// features describes the features of a request.
func features(in *route.Input) string {
	parts := []string{"model " + cli.OrDash(in.Model)}
	if in.Routed() {
		parts = append(parts, fmt.Sprintf("objective %s (trade-off %s)", in.Objective.Name, strconv.FormatFloat(in.Objective.Tradeoff, 'f', 2, 64)))
	}
	parts = append(parts, "about "+cli.Count(in.InputTokens)+" input tokens")
	add := func(applies bool, format string, args ...any) {
		if applies {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(in.MaxOutput > 0, "at most %s output tokens", cli.Count(in.MaxOutput))
	add(in.Effort != "", "reasoning effort %s", in.Effort)
	add(in.Messages > 0, "%s", cli.Plural(in.Messages, "message"))
	add(in.Images > 0, "%s", cli.Plural(in.Images, "image"))
	add(in.Choices > 1, "%d choices", in.Choices)
	add(in.Needs != 0, "needs %s", strings.Join(in.Needs.Names(), ", "))
	add(in.Stream, "streamed")
	add(in.Dimensions > 0, "%s dimensions", cli.Count(in.Dimensions))
	add(len(in.Controls.Models) > 0, "fallbacks %s", strings.Join(in.Controls.Models, ", "))
	add(len(in.AllowedModels) > 0, "the key allows %s", strings.Join(in.AllowedModels, ", "))
	return strings.Join(parts, "; ")
}

// BaselineSource describes why a model is the baseline.
func BaselineSource(source route.BaselineSource) string {
	texts := map[route.BaselineSource]string{
		route.BaselineCaller: "the model that the caller requested", route.BaselineHeader: "the model named in a header",
		route.BaselinePolicy: "the baseline set by a policy", route.BaselineKey: "the baseline of the API key",
		route.BaselineDefault: "the default model",
	}
	if text, ok := texts[source]; ok {
		return text
	}
	return "unknown reason"
}
