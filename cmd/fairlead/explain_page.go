package main

import (
	"fmt"
	"strconv"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/predict"
	"fairlead/internal/route"
)

// explanation writes a decision in words: what would happen, what was seen, what policies say, and how candidates do.
func (p *page) explanation(d *route.Decision, refusal *llm.Error) {
	p.paragraph(outcome(d, refusal), 0)
	p.section("Seen")
	p.seen(d)
	if len(d.Policies) > 0 {
		p.section("Policies")
		for i := range d.Policies {
			p.policy(&d.Policies[i])
		}
	}
	ranked, excluded := 0, 0
	for i := range d.Candidates {
		if d.Candidates[i].Excluded == nil {
			ranked++
		} else {
			excluded++
		}
	}
	if ranked > 0 {
		p.section("Candidates")
		p.table(rankedTable(d))
	}
	if excluded > 0 {
		p.section("Excluded")
		p.table(excludedTable(d))
	}
	p.choice(d)
}

// outcome says in a sentence what would happen.
func outcome(d *route.Decision, refusal *llm.Error) string {
	if refusal != nil {
		text := "Refused (" + refusal.Kind.Code() + "): " + refusal.Message
		if d.Policy != "" {
			text += " That is what policy " + d.Policy + " says."
		}
		return text
	}
	first := &d.Candidates[0]
	text := fmt.Sprintf("Would go to %s – %s route", first.Target, d.Kind)
	if d.Policy != "" {
		text += " by policy " + d.Policy
	}
	if d.Explored {
		text += ", drawn to explore"
	}
	if d.Alone != "" {
		text += "; without policies it would go to " + d.Alone
	}
	return fmt.Sprintf("%s. Expected to cost %s.", text, costing(paid(first.Price)))
}

func (p *page) seen(d *route.Decision) {
	in := &d.Input
	if in.Features.Task != "" {
		p.fact("task", taskText(&in.Features))
	}
	p.fact("features", features(in))
	if d.QualityTarget != (route.QualityTarget{}) {
		p.fact("aim", fmt.Sprintf("a chance of %s for a good answer; the best model has %s", chance(d.QualityTarget.Target), chance(d.QualityTarget.Best)))
	}
	if in.Turns > 0 {
		p.fact("turns", strings.TrimSuffix(fmt.Sprintf("%s so far, the latest from %s", plural(in.Turns, "answer"), in.Last), ", the latest from "))
	}
	if d.MaxOutput > 0 {
		p.fact("bound", "policies allow "+count(d.MaxOutput)+" tokens of answer")
	}
	if d.HideText {
		p.fact("texts", "policies keep them out of the log")
	}
	v := d.Versions
	p.fact("versions", fmt.Sprintf("router %s, predictor %s, catalog %s, policies %s, feedback %s", or(v.Router), or(v.Predictor), or(v.Catalog), or(v.Policy), or(v.Feedback)))
}

// taskText says what the prompt asks for, and how sure that is.
func taskText(s *predict.Features) string {
	text := string(s.Task)
	if s.Language != "" {
		text += ", language " + s.Language
	}
	return fmt.Sprintf("%s; %s %% like what the predictor has learned from", text, strconv.FormatFloat(100*s.Known, 'f', 0, 64))
}

// policy says what a policy does to the request, or which of its conditions failed.
func (p *page) policy(hit *route.PolicyHit) {
	if hit.Matched {
		p.fact("matched", strings.TrimSuffix(hit.Name+": "+hit.Effect(), ": "))
		return
	}
	p.fact("skipped", strings.TrimSuffix(hit.Name+": "+hit.Reason(), ": "))
}

func rankedTable(d *route.Decision) *table {
	t := &table{columns: []column{
		{title: "RANK", right: true},
		{title: "TARGET", soft: true},
		{title: "CHANCE", right: true},
		{title: "EXPECTED COST", right: true},
		{title: "OUTPUT", right: true},
		{title: "WARM", right: true},
		{title: "ABOUT", right: true},
		{title: "SCORE", right: true},
	}}
	for i := range d.Candidates {
		c := &d.Candidates[i]
		if c.Excluded != nil {
			continue
		}
		look := plain
		if c.Rank == 1 {
			look = green
		}
		t.add(cell{text: strconv.Itoa(c.Rank)}, cell{c.Target, look}, cell{text: chanceSpread(c)}, cell{text: paid(c.Price)}, cell{text: count(c.Output)},
			cell{text: warmText(c.Cache)}, cell{text: expected(c.Latency)}, cell{text: score(c.Score)})
	}
	return t
}

func excludedTable(d *route.Decision) *table {
	t := &table{columns: []column{{title: "TARGET", soft: true}, {title: "CODE"}, {title: "REASON"}}}
	for i := range d.Candidates {
		if c := &d.Candidates[i]; c.Excluded != nil {
			t.row(c.Target, string(c.Excluded.Code), c.Excluded.Reason())
		}
	}
	return t
}

// chance writes a probability with three digits.
func chance(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) }

func chanceSpread(c *route.Candidate) string {
	if c.Quality == 0 {
		return unknown
	}
	return chance(c.Quality) + " ± " + chance(c.Spread)
}

func warmText(w route.CacheHit) string {
	if w.Read == 0 {
		return unknown
	}
	return count(w.Read)
}

func (p *page) choice(d *route.Decision) {
	if d.Baseline == nil && d.RunnerUp == "" && d.Stay == nil {
		return
	}
	p.section("Choice")
	if d.Baseline != nil {
		p.fact("baseline", d.Baseline.Model+", "+baselineSource(d.Baseline.Source))
	}
	if d.RunnerUp != "" {
		p.fact("runner-up", fmt.Sprintf("%s, %s behind", d.RunnerUp, score(d.Margin)))
	}
	if d.Stay != nil {
		p.fact("stays", fmt.Sprintf("with %s because its prompt is warm there: switching to %s would cost %s more", d.Stay.Target, d.Stay.Else, dollars(d.Stay.Switch)))
	}
}
