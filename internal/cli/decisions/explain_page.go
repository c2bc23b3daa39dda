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

// explanation writes the outcome of a decision and the decision.
func (p *Page) explanation(d *route.Decision, refusal *llm.Error) {
	p.Paragraph(outcome(d, refusal), 0)
	p.Section("Request")
	p.Decision(d)
}

// Decision writes the features, the evaluated policies and the candidates of a decision.
func (p *Page) Decision(d *route.Decision) {
	p.seen(d)
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
	ranked, excluded := 0, 0
	excludedTable := &cli.Table{Columns: []cli.Column{{Title: "TARGET", Soft: true}, {Title: "CODE"}, {Title: "REASON"}}}
	for i := range d.Candidates {
		if c := &d.Candidates[i]; c.Excluded == nil {
			ranked++
		} else {
			excludedTable.Row(c.Target, string(c.Excluded.Code), c.Excluded.Reason())
			excluded++
		}
	}
	if ranked > 0 {
		p.Section("Candidates")
		p.Table(rankedTable(d))
	}
	if excluded > 0 {
		p.Section("Excluded")
		p.Table(excludedTable)
	}
	p.choice(d)
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

func (p *Page) seen(d *route.Decision) {
	in := &d.Input
	if in.Features.Task != "" {
		task := string(in.Features.Task)
		if in.Features.Language != "" {
			task += ", language " + in.Features.Language
		}
		p.Field("task", fmt.Sprintf("%s; %s %% similar to training prompts", task, strconv.FormatFloat(100*in.Features.Known, 'f', 0, 64)))
	}
	p.Field("features", features(in))
	if d.QualityTarget != (route.QualityTarget{}) {
		p.Field("target", fmt.Sprintf("quality %s (best available: %s)", chance(d.QualityTarget.Target), chance(d.QualityTarget.Best)))
	}
	if in.Turns > 0 {
		p.Field("turns", strings.TrimSuffix(fmt.Sprintf("%s so far, the latest from %s", cli.Plural(in.Turns, "turn"), in.Last), ", the latest from "))
	}
	for _, a := range d.Adjustments {
		p.Field("adjusted", strings.ReplaceAll(string(a.Code), "_", " ")+": "+a.Reason)
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

func rankedTable(d *route.Decision) *cli.Table {
	t := &cli.Table{Columns: []cli.Column{
		{Title: "RANK", Right: true},
		{Title: "TARGET", Soft: true},
		{Title: "PREDICTED QUALITY", Right: true},
		{Title: "EXPECTED COST", Right: true},
		{Title: "OUTPUT", Right: true},
		{Title: "CACHED INPUT", Right: true},
		{Title: "EXPECTED LATENCY", Right: true},
		{Title: "SCORE", Right: true},
	}}
	for i := range d.Candidates {
		c := &d.Candidates[i]
		if c.Excluded != nil {
			continue
		}
		look := cli.Plain
		if c.Rank == 1 {
			look = cli.Green
		}
		target := c.Target
		if c.Effort != "" {
			target += " (effort " + c.Effort + ")"
		}
		quality, cached := cli.Dash, cli.Dash
		if c.Quality != 0 {
			quality = chance(c.Quality) + " ± " + chance(c.Spread)
		}
		if c.Cache.Read != 0 {
			cached = cli.Count(c.Cache.Read)
		}
		t.Add(cli.Cell{Text: strconv.Itoa(c.Rank)}, cli.Cell{Text: target, Paint: look}, cli.Cell{Text: quality}, cli.Cell{Text: cli.Cost(c.Price)}, cli.Cell{Text: cli.Count(c.Output)},
			cli.Cell{Text: cached}, cli.Cell{Text: expected(c.Latency)}, cli.Cell{Text: cli.Score(c.Score)})
	}
	return t
}

// chance formats a success probability with three decimals.
func chance(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) }

func (p *Page) choice(d *route.Decision) {
	if d.Baseline == nil && d.RunnerUp == "" && d.Stay == nil {
		return
	}
	p.Section("Choice")
	if d.Baseline != nil {
		p.Field("baseline", d.Baseline.Model+", "+BaselineSource(d.Baseline.Source))
	}
	if d.RunnerUp != "" {
		p.Field("runner-up", fmt.Sprintf("%s, %s behind", d.RunnerUp, cli.Score(d.Margin)))
	}
	if d.Stay != nil {
		because := "its prompt cache has this conversation"
		if d.Stay.Reason == route.StayReasoning {
			because = "only it can read the reasoning of this tool loop"
		}
		p.Field("kept", fmt.Sprintf("%s, because %s: switching to %s would cost %s more", d.Stay.Target, because, d.Stay.Alternative, cli.Dollars(d.Stay.Switch)))
	}
}

// features describes the features of a request.
func features(in *route.Input) string {
	parts := []string{"model " + cli.OrDash(in.Model)}
	if route.IsAuto(in.Model) {
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

// expected formats an expected latency in milliseconds. It returns a dash if ms is not positive.
func expected(ms int64) string {
	if ms <= 0 {
		return cli.Dash
	}
	return cli.Count(ms) + " ms"
}

// BaselineSource describes why a model is the baseline.
func BaselineSource(source route.BaselineSource) string {
	texts := map[route.BaselineSource]string{
		route.BaselineCaller: "the model that the caller requested", route.BaselineHeader: "the model named in a header",
		route.BaselinePolicy: "the baseline set by a policy", route.BaselineKey: "the baseline of the API key",
		route.BaselineDefault: "the default model", route.BaselineMostExpensive: "the most expensive candidate",
	}
	if text, ok := texts[source]; ok {
		return text
	}
	return "unknown reason"
}
