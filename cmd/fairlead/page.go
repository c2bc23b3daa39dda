package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairlead/internal/admin/requests"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// entry writes a whole request: the verdict, the decision, the attempts, the money, the rest.
func (p *page) entry(e *requestlog.Entry, when string) {
	kind := e.Endpoint
	if e.Stream {
		kind += ", streamed"
	}
	p.WriteString(painted(clean(e.ID), bold, p.coloured) + "  " + when + "  " + clean(kind) + "\n\n")
	p.paragraph(verdict(e), 0)
	for _, warning := range e.Warnings {
		p.paragraph("Warning: "+warning, 0)
	}
	if e.Decision != nil {
		p.decision(e, e.Decision)
	}
	if len(e.Attempts) > 0 {
		p.attempts(e)
	}
	if e.Model != "" {
		p.money(e)
	}
	if e.Error != nil {
		p.section("Error")
		p.fact(strings.ToLower(string(e.Error.Origin)), e.Error.Code)
		p.fact("message", or(e.Error.Message))
	}
	p.metadata(e)
}

func (p *page) decision(e *requestlog.Entry, d *route.Decision) {
	p.section("Decision")
	how := string(e.DecisionKind)
	if how == "" {
		how = "none served"
	}
	if e.Policy != "" {
		how += ", policy " + e.Policy
	}
	p.fact("kind", fmt.Sprintf("%s (took %s µs, router %s, catalog %s)", how, count(d.Micros), or(d.Versions.Router), or(d.Versions.Catalog)))
	p.fact("features", features(&d.Input))
	for _, hit := range d.Policies {
		p.fact("policy", policyText(hit))
	}
	if d.Baseline != nil {
		p.fact("baseline", d.Baseline.Model+", "+baselineSource(d.Baseline.Source))
	}
	if d.RunnerUp != "" {
		p.fact("runner-up", fmt.Sprintf("%s, %s behind", d.RunnerUp, score(d.Margin)))
	}
	if len(d.Candidates) > 0 {
		p.section("Candidates")
		p.table(candidates(e, d))
	}
}

// features are what the router saw of the request.
func features(in *route.Input) string {
	parts := []string{"model " + or(in.Model)}
	if route.IsAuto(in.Model) {
		parts = append(parts, fmt.Sprintf("objective %s (trade-off %s)", in.Objective.Name, strconv.FormatFloat(in.Objective.Tradeoff, 'f', 2, 64)))
	}
	parts = append(parts, "about "+count(in.InputTokens)+" input tokens")
	add := func(applies bool, format string, args ...any) {
		if applies {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(in.MaxOutput > 0, "at most %s output tokens", count(in.MaxOutput))
	add(in.Messages > 0, "%s", plural(in.Messages, "message"))
	add(in.Images > 0, "%s", plural(in.Images, "image"))
	add(in.Choices > 1, "%d choices", in.Choices)
	add(in.Needs != 0, "needs %s", strings.Join(in.Needs.Names(), ", "))
	add(in.Stream, "streamed")
	add(in.Dimensions > 0, "%s dimensions", count(in.Dimensions))
	add(len(in.Controls.Models) > 0, "fallbacks %s", strings.Join(in.Controls.Models, ", "))
	add(len(in.AllowedModels) > 0, "the key allows %s", strings.Join(in.AllowedModels, ", "))
	return strings.Join(parts, "; ")
}

func policyText(hit route.PolicyHit) string {
	if hit.Matched {
		return strings.TrimSuffix(hit.Name+" matched: "+hit.Effect(), ": ")
	}
	return strings.TrimSuffix(hit.Name+" skipped: "+hit.Reason(), ": ")
}

func candidates(e *requestlog.Entry, d *route.Decision) *table {
	t := &table{columns: []column{
		{title: "RANK", right: true},
		{title: "TARGET", soft: true},
		{title: "SCORE", right: true},
		{title: "QUALITY", right: true},
		{title: "COST", right: true},
		{title: "SPEED", right: true},
		{title: "EXPECTED", right: true},
		{title: "ABOUT", right: true},
		{title: ""},
	}}
	for _, c := range d.Candidates {
		if c.Excluded != nil {
			t.add(cell{unknown, faint}, cell{c.Target, faint}, cell{"excluded: " + c.Excluded.Reason() + " (" + string(c.Excluded.Code) + ")", faint})
			continue
		}
		mark := cell{}
		if c.Provider == e.Provider && c.Model == e.Model && c.Target != "" {
			mark = cell{"served", green}
		}
		t.add(cell{text: strconv.Itoa(c.Rank)}, cell{text: c.Target}, cell{text: score(c.Score)}, cell{text: score(c.Quality)},
			cell{text: score(c.Cost)}, cell{text: score(c.Speed)}, cell{text: paid(c.Price)}, cell{text: expected(c.Latency)}, mark)
	}
	return t
}

func expected(ms int64) string {
	if ms <= 0 {
		return unknown
	}
	return count(ms) + " ms"
}

func (p *page) attempts(e *requestlog.Entry) {
	p.section("Attempts")
	t := &table{columns: []column{
		{title: "#", right: true},
		{title: "TARGET", soft: true},
		{title: "START", right: true},
		{title: "CONNECT", right: true},
		{title: "HEADERS", right: true},
		{title: "FIRST TOKEN", right: true},
		{title: "DURATION", right: true},
		{title: "STATUS", right: true},
		{title: "RESULT"},
	}}
	for i := range e.Attempts {
		a := &e.Attempts[i]
		status, result := unknown, cell{"served", green}
		if a.Status > 0 {
			status = strconv.Itoa(a.Status)
		}
		if a.Class != "" {
			result = cell{string(a.Class), red}
		}
		t.add(cell{text: strconv.Itoa(i + 1)}, cell{text: a.Provider + "/" + a.Model}, cell{text: lasted(a.Start)},
			cell{text: lastedOr(a.Connect)}, cell{text: lastedOr(a.Headers)}, cell{text: lastedOr(a.FirstToken)},
			cell{text: lasted(a.Duration)}, cell{text: status}, result)
	}
	p.table(t)
	for i := range e.Attempts {
		a := &e.Attempts[i]
		text := a.Message
		if a.Wait > 0 {
			text = strings.TrimSpace("waited " + lasted(a.Wait) + " before this attempt. " + text)
		}
		if a.RetryAfter > 0 {
			text = strings.TrimSpace(text + " (asked us to wait " + lasted(a.RetryAfter) + ")")
		}
		if text != "" {
			p.paragraph(fmt.Sprintf("%d: %s", i+1, text), 2)
		}
	}
	p.paragraph(fmt.Sprintf("total %s: gateway overhead %s, waiting %s, attempts %s",
		lasted(e.Latency), lasted(e.Overhead), lasted(e.Wait), lasted(e.Latency-e.Overhead-e.Wait)), 2)
}

func (p *page) metadata(e *requestlog.Entry) {
	p.section("Metadata")
	fact := func(name, text string) {
		if text != "" {
			p.fact(name, text)
		}
	}
	key := e.KeyName
	if e.KeyID != "" {
		key = strings.TrimSpace(key + " (" + e.KeyID + ")")
	}
	fact("key", key)
	fact("account", e.AccountID)
	fact("requested", e.Requested)
	fact("served as", e.ServedAs)
	fact("finish", e.Finish)
	fact("session", e.Session)
	fact("end user", e.EndUser)
	fact("tags", pairs(e.Tags))
	fact("metadata", pairs(e.Metadata))
	fact("client", strings.TrimSpace(e.Client+" "+e.IP))
	fact("trace id", e.TraceID)
	fact("bytes", count(e.BytesIn)+" in, "+count(e.BytesOut)+" out")
	fact("prompt", e.Preview)
	fact("texts", string(e.BodyState))
}

func pairs(m map[string]string) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		texts = append(texts, name+"="+m[name])
	}
	return strings.Join(texts, ", ")
}

// body writes the texts of request and answer, or why they are not there.
func (p *page) body(b *requests.RequestBody) {
	if b.Reason != nil {
		p.section("Texts")
		p.paragraph(*b.Reason, 2)
		return
	}
	for _, part := range []struct {
		title string
		text  *string
	}{{"Request", b.Request}, {"Answer", b.Response}} {
		p.section(part.title)
		if part.text == nil {
			p.paragraph("none", 2)
			continue
		}
		p.WriteString(cleanLines(strings.TrimRight(readable(*part.text), "\n")) + "\n")
	}
}

// readable indents JSON; other text stays as it is.
func readable(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}
