package redaction

import (
	"maps"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/outline"
	"fairlead.dev/internal/redact"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/transcript"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/show"
)

// redactTexts redacts every string that was written by a caller or provider, except the bodies and the preview. It copies the values to
// which the entry points, because other goroutines may read them.
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

// redactDecision replaces the caller's strings in the decision with the redacted strings of the entry. It also redacts the errors of
// skipped policies, because these errors quote the request.
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

// redactBodies redacts the request and response bodies. It rebuilds the preview, because the old preview may end in the middle of a
// secret, which no rule would match.
func redactBodies(p *redact.Pass, e *requestlog.Entry) {
	if e.Body.Split {
		redactSplit(p, e)
	} else {
		original := e.Body.Request
		e.Body.Request = p.JSON(original)
		e.Preview = redactPreview(p, e, e.Body.Request, original)
	}
	if e.Body.Streamed {
		// Stored events without a joined response are dropped, because no rule matches a secret that is split between events.
		e.Body.Response, e.Body.Streamed = nil, false
		return
	}
	e.Body.Response = p.JSON(e.Body.Response)
}

// redactSplit redacts a request that is split into an outline and parts (see package outline). It redacts the outline and the parts that
// are not stored yet. Parts that are already stored were redacted with the same rules, because the address of a part depends on the rules.
// The preview must contain the text that PreviewSource returned.
func redactSplit(p *redact.Pass, e *requestlog.Entry) {
	var parts []byte
	steps, err := outline.Edit(e.Body.Request, p.JSONPart)
	if err == nil {
		err = outline.EachPart(e.Body.Parts, func(part outline.Part) (err error) {
			if part.Kind != outline.List {
				part.Content = p.JSONPart(part.Content)
			} else if part.Content, err = outline.Edit(part.Content, p.JSONPart); err != nil {
				return err
			}
			parts = outline.AppendPart(parts, part)
			return nil
		})
	}
	if err != nil { // an undecodable body cannot be redacted
		withhold(e)
		return
	}
	e.Body.Request, e.Body.Parts = steps, parts
	e.Preview = shorten(p.Text(e.Preview))
}

// shorten returns a preview of text.
func shorten(text string) string { return show.Cut(show.OneLine(text), llm.PreviewBytes) }

// PreviewSource returns the text from which the preview of an entry is created. The text is longer than the preview, so that redaction
// rules find matches that begin in the preview. The preview of a split request is created from this text.
func PreviewSource(e *requestlog.Entry) string {
	if len(e.Preview) <= llm.PreviewBytes-4 {
		return e.Preview // the preview contains the complete text
	}
	op, body := chatFormatOp(e), e.Body.Request
	if op == "" {
		op, body = llm.Chat, transcript.RequestToChat(e.Format, body)
	}
	source := ""
	_, _ = openai.Preview(op, body, func(text string) string { // if the request is invalid, the source is empty
		source = text
		return text
	})
	return source
}

// chatFormatOp returns the operation of a request in the chat format. It returns an empty operation for other formats.
func chatFormatOp(e *requestlog.Entry) llm.Op {
	return map[string]llm.Op{
		"chat/completions": llm.Chat, "embeddings": llm.Embed, "completions": llm.Complete, "moderations": llm.Moderate,
	}[e.Endpoint]
}

// redactPreview builds the preview from the redacted request, or from the original request if redaction made it invalid. If neither request
// can be decoded, it removes a preview that may be truncated.
func redactPreview(p *redact.Pass, e *requestlog.Entry, redacted, original []byte) string {
	if e.Preview == "" {
		return ""
	}
	op := chatFormatOp(e)
	if op == "" {
		redacted, original, op = transcript.RequestToChat(e.Format, redacted), transcript.RequestToChat(e.Format, original), llm.Chat
	}
	if text, ok := openai.Preview(op, redacted, func(text string) string { return text }); ok && text != "" {
		return text
	}
	if text, ok := openai.Preview(op, original, p.Text); ok {
		return text
	}
	if len(e.Preview) > llm.PreviewBytes-4 {
		return ""
	}
	return p.Text(e.Preview)
}

// withhold removes all text from an entry that cannot be redacted.
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
