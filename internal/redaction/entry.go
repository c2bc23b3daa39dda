package redaction

import (
	"maps"
	"slices"

	"fairlead/internal/llm"
	"fairlead/internal/redact"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
	"fairlead/internal/transcript"
	"fairlead/internal/wire/chat"
)

// redactTexts redacts every text that callers or providers wrote, except the bodies and the preview. It copies the values that
// the entry points to, because other goroutines may read them.
func redactTexts(p *redact.Pass, e *requestlog.Entry) {
	for _, c := range requestlog.Columns() {
		if c.Redacted != nil {
			*c.Redacted(e) = p.Text(*c.Redacted(e))
		}
	}
	e.Tags, e.Metadata = redactValues(p, e.Tags), redactValues(p, e.Metadata)
	e.Warnings = slices.Clone(e.Warnings)
	for i := range e.Warnings {
		e.Warnings[i] = p.Text(e.Warnings[i])
	}
	if e.Error != nil {
		failure := *e.Error
		failure.Message = p.Text(failure.Message)
		e.Error = &failure
	}
	e.Attempts = slices.Clone(e.Attempts)
	for i := range e.Attempts {
		e.Attempts[i].Message = p.Text(e.Attempts[i].Message)
	}
	if e.Decision != nil {
		e.Decision = redactDecision(e, p.Text)
	}
}

// redactDecision replaces the caller's texts in the decision with the redacted ones of the entry, and redacts the errors of
// skipped policies, which quote the request.
func redactDecision(e *requestlog.Entry, text func(string) string) *route.Decision {
	whole, err := e.WholeDecision()
	if err != nil {
		return nil // an undecodable decision cannot be redacted
	}
	decision := *whole
	in := &decision.Input
	in.Controls.SessionID, in.EndUser, in.Metadata, in.Tags = e.Session, e.EndUser, e.Metadata, e.Tags
	in.Key.Tags = maps.Clone(in.Key.Tags)
	for name, value := range in.Key.Tags {
		in.Key.Tags[name] = text(value)
	}
	decision.Policies = slices.Clone(decision.Policies)
	for i := range decision.Policies {
		if hit := &decision.Policies[i]; !hit.Matched {
			*hit = route.NewPolicyHit(hit.Name, hit.Source, false, "", text(hit.Reason()))
		}
	}
	return &decision
}

func redactValues(p *redact.Pass, values map[string]string) map[string]string {
	values = maps.Clone(values)
	for name, value := range values {
		values[name] = p.Text(value)
	}
	return values
}

// redactBodies redacts the request and response bodies and rebuilds the preview: the old preview may end in the middle of a
// secret, where no rule matches.
func redactBodies(p *redact.Pass, e *requestlog.Entry) {
	original := e.Body.Request
	e.Body.Request = p.JSON(original)
	e.Preview = redactPreview(p, e, e.Body.Request, original)
	if e.Body.Streamed {
		// Stored events without a joined response: a secret may be split between events, where no rule matches.
		e.Body.Response, e.Body.Streamed = nil, false
		return
	}
	e.Body.Response = p.JSON(e.Body.Response)
}

// redactPreview builds the preview from the redacted request, or from the original one if redaction made the request
// invalid. Without either, a preview that may be truncated is removed.
func redactPreview(p *redact.Pass, e *requestlog.Entry, redacted, original []byte) string {
	if e.Preview == "" {
		return ""
	}
	op, known := map[string]llm.Op{
		"chat/completions": llm.Chat, "embeddings": llm.Embed, "completions": llm.Complete, "moderations": llm.Moderate,
	}[e.Endpoint]
	if !known {
		redacted, original, op = transcript.RequestToChat(e.Format, redacted), transcript.RequestToChat(e.Format, original), llm.Chat
	}
	if text, ok := chat.Preview(op, redacted, func(text string) string { return text }); ok && text != "" {
		return text
	}
	if text, ok := chat.Preview(op, original, p.Text); ok {
		return text
	}
	if len(e.Preview) > llm.PreviewBytes-4 {
		return ""
	}
	return p.Text(e.Preview)
}

// withhold removes every text of an entry that cannot be redacted.
func withhold(e *requestlog.Entry) {
	e.Body, e.Preview, e.Session, e.EndUser, e.Metadata, e.Warnings = requestlog.Body{}, "", "", "", nil, nil
	if e.BodyState == requestlog.BodyStored {
		e.BodyState = requestlog.BodyRedactionTimeout
	}
	e.Tags = maps.Clone(e.Tags)
	for name := range e.Tags {
		e.Tags[name] = ""
	}
	if e.Error != nil {
		e.Error = &requestlog.Failure{Code: e.Error.Code, Origin: e.Error.Origin}
	}
	e.Attempts = slices.Clone(e.Attempts)
	for i := range e.Attempts {
		e.Attempts[i].Message = ""
	}
	if e.Decision != nil {
		e.Decision = redactDecision(e, func(string) string { return "" })
	}
}
