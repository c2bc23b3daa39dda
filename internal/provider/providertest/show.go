package providertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"fairlead.dev/internal/llm"
)

// event is the readable form of an llm.Event.
type event struct {
	Data     json.RawMessage `json:"data"`
	Content  bool            `json:"content,omitempty"`
	Bare     bool            `json:"bare,omitempty"`
	Finish   string          `json:"finish,omitempty"`
	Usage    *llm.Usage      `json:"usage,omitempty"`
	Model    string          `json:"model,omitempty"`
	ASCII    int             `json:"ascii,omitempty"`
	NonASCII int             `json:"non_ascii,omitempty"`
}

// failure is the readable form of an error.
type failure struct {
	Kind       llm.Kind       `json:"kind"`
	Code       string         `json:"code"`
	Status     int            `json:"status"`
	Message    string         `json:"message"`
	Param      string         `json:"param,omitempty"`
	Details    map[string]any `json:"details,omitempty"`
	RetryAfter string         `json:"retry_after,omitempty"`
	Upstream   int            `json:"upstream_status,omitempty"`
	Theirs     string         `json:"upstream_code,omitempty"`
}

// describe returns an event in readable form. It copies the bytes, because they are valid only until the next event is read.
func describe(ev llm.Event) event {
	data := json.RawMessage(bytes.Clone(ev.Data))
	if !json.Valid(data) {
		data, _ = json.Marshal(string(ev.Data)) // cannot fail for a string
	}
	described := event{
		Data: data, Content: ev.Content, Bare: ev.Bare, Finish: ev.Finish, Model: ev.Model,
		ASCII: ev.ASCIIBytes, NonASCII: ev.NonASCIIBytes,
	}
	if ev.Usage != nil {
		usage := *ev.Usage
		described.Usage = &usage
	}
	return described
}

// show formats events, one per line, followed by the error and the warnings.
func show(events []event, err error, warnings []string) []byte {
	var out bytes.Buffer
	out.WriteString("{\"events\": [")
	for i, ev := range events {
		if i > 0 {
			out.WriteString(",")
		}
		out.WriteString("\n  ")
		out.Write(line(ev))
	}
	out.WriteString("\n],\n\"error\": ")
	out.Write(line(explain(err)))
	out.WriteString(",\n\"warnings\": ")
	out.Write(line(warnings))
	out.WriteString("}\n")
	return out.Bytes()
}

func explain(err error) any {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err.Error()
	}
	shown := failure{
		Kind: e.Kind, Code: e.Kind.Code(), Status: e.Status(), Message: e.Message, Param: e.Param, Details: e.Details,
		Upstream: e.UpstreamStatus, Theirs: e.UpstreamCode,
	}
	if e.RetryAfter != 0 {
		shown.RetryAfter = e.RetryAfter.Round(time.Millisecond).String()
	}
	return shown
}

// line encodes a value on one line without HTML escapes, so that diffs are easy to review.
func line(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return []byte(`"` + err.Error() + `"`)
	}
	return bytes.TrimSpace(out.Bytes())
}
