package requests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	adminrequests "fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/decisions"
	"fairlead.dev/internal/requestlog"
)

// entryPage formats a request as text.
type entryPage struct{ decisions.Page }

// entry writes the summary, the decision, the attempts, the costs and the other fields of a request.
func (p *entryPage) entry(e *requestlog.Entry, when string) {
	kind := e.Endpoint
	if e.Stream {
		kind += ", streamed"
	}
	p.WriteString(cli.Painted(cli.Clean(e.ID), cli.Bold, p.Coloured) + "  " + when + "  " + cli.Clean(kind) + "\n\n")
	p.Paragraph(verdict(e), 0)
	for _, warning := range e.Warnings {
		p.Paragraph("Warning: "+warning, 0)
	}
	if e.Decision != nil {
		p.Section("Decision")
		p.Decision(e.Decision)
	}
	if len(e.Attempts) > 0 {
		p.attempts(e)
	}
	if e.Model != "" {
		p.money(e)
	}
	if e.Error != nil {
		p.Section("Error")
		p.Field(strings.ToLower(string(e.Error.Origin)), e.Error.Code)
		p.Field("message", cli.OrDash(e.Error.Message))
	}
	p.metadata(e)
}

func (p *entryPage) attempts(e *requestlog.Entry) {
	p.Section("Attempts")
	t := &cli.Table{Columns: []cli.Column{
		{Title: "#", Right: true},
		{Title: "TARGET", Soft: true},
		{Title: "START", Right: true},
		{Title: "CONNECT", Right: true},
		{Title: "HEADERS", Right: true},
		{Title: "FIRST TOKEN", Right: true},
		{Title: "DURATION", Right: true},
		{Title: "STATUS", Right: true},
		{Title: "RESULT"},
	}}
	for i := range e.Attempts {
		a := &e.Attempts[i]
		status, result := cli.Dash, cli.Cell{Text: "served", Paint: cli.Green}
		if a.Status > 0 {
			status = strconv.Itoa(a.Status)
		}
		if a.Class != "" {
			result = cli.Cell{Text: string(a.Class), Paint: cli.Red}
		}
		t.Add(cli.Cell{Text: strconv.Itoa(i + 1)}, cli.Cell{Text: a.Provider + "/" + a.Model}, cli.Cell{Text: cli.Duration(a.Start)},
			cli.Cell{Text: cli.DurationOrDash(a.Connect)}, cli.Cell{Text: cli.DurationOrDash(a.Headers)}, cli.Cell{Text: cli.DurationOrDash(a.FirstToken)},
			cli.Cell{Text: cli.Duration(a.Duration)}, cli.Cell{Text: status}, result)
	}
	p.Table(t)
	for i := range e.Attempts {
		a := &e.Attempts[i]
		text := a.Message
		if a.BudgetWait > 0 {
			text = strings.TrimSpace("Waited " + cli.Duration(a.BudgetWait) + " for budget that other requests had reserved. " + text)
		}
		if wait := a.Wait - a.BudgetWait; wait > 0 {
			text = strings.TrimSpace("Waited " + cli.Duration(wait) + " before this attempt. " + text)
		}
		if a.RetryAfter > 0 {
			text = strings.TrimSpace(text + " (retry after " + cli.Duration(a.RetryAfter) + ")")
		}
		if text != "" {
			p.Paragraph(fmt.Sprintf("%d: %s", i+1, text), 2)
		}
	}
	p.Paragraph(fmt.Sprintf("total %s: gateway overhead %s, waiting %s, attempts %s",
		cli.Duration(e.Latency), cli.Duration(e.Overhead), cli.Duration(e.Wait), cli.Duration(e.Latency-e.Overhead-e.Wait)), 2)
}

func (p *entryPage) metadata(e *requestlog.Entry) {
	p.Section("Metadata")
	fact := func(name, text string) {
		if text != "" {
			p.Field(name, text)
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
	if c := e.Cache; c != nil {
		text := string(c.Status)
		switch {
		case c.Status == requestlog.CacheHit:
			text = fmt.Sprintf("hit, %s old, saved %s (made for %s)", cli.Duration(c.Age), cli.Amount(c.Saved), c.Source)
		case c.Reason != "":
			text += ": " + c.Reason
		}
		fact("cache", text)
	}
	fact("session", e.Session)
	fact("end user", e.EndUser)
	fact("tags", pairs(e.Tags))
	fact("metadata", pairs(e.Metadata))
	fact("client", strings.TrimSpace(e.Client+" "+e.IP))
	fact("trace id", e.TraceID)
	fact("bytes", cli.Count(e.BytesIn)+" in, "+cli.Count(e.BytesOut)+" out")
	fact("prompt", e.Preview)
	fact("bodies", string(e.BodyState))
}

func pairs(m map[string]string) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		texts = append(texts, name+"="+m[name])
	}
	return strings.Join(texts, ", ")
}

// body writes the request and response bodies, or the reason why they are not available.
func (p *entryPage) body(b *adminrequests.RequestBody) {
	if b.Reason != nil {
		p.Section("Prompt and response")
		p.Paragraph(*b.Reason, 2)
		return
	}
	for _, part := range []struct {
		title string
		text  *string
	}{{"Request", b.Request}, {"Answer", b.Response}} {
		p.Section(part.title)
		if part.text == nil {
			p.Paragraph("none", 2)
			continue
		}
		text := *part.text
		var indented bytes.Buffer
		if json.Indent(&indented, []byte(text), "", "  ") == nil {
			text = indented.String()
		}
		p.WriteString(cli.CleanLines(strings.TrimRight(text, "\n")) + "\n")
	}
}
