// Package signals collects implicit feedback signals from log entries and writes them in batches.
package signals

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"fairlead/internal/feedback"
	"fairlead/internal/llm"
	"fairlead/internal/rawjson"
	"fairlead/internal/requestlog"
	"fairlead/internal/transcript"
)

// signalPause is the interval between batches.
const signalPause = time.Second

// Collector collects implicit feedback signals of responses.
type Collector struct {
	waiting chan feedback.Rating
	write   func(context.Context, []feedback.Rating) error
	report  func(error)
}

// New returns a collector. It passes signals to write, and errors of write to report.
func New(write func(context.Context, []feedback.Rating) error, report func(error)) *Collector {
	return &Collector{waiting: make(chan feedback.Rating, 1024), write: write, report: report}
}

// Add collects the signals of an entry. Signals that arrive faster than they can be written are dropped.
func (s *Collector) Add(e *requestlog.Entry) {
	if e.Decision == nil || e.KeyID == requestlog.SampleKey {
		return
	}
	found := e.Signals
	if violates(e) {
		found = append(found[:len(found):len(found)], string(feedback.SchemaViolation))
	}
	for _, name := range found {
		r := feedback.Rating{
			RequestID: e.ID, WorkspaceID: e.WorkspaceID, Source: feedback.FromSignal, Signal: feedback.Signal(name), Model: e.Model,
			Task: e.Decision.Input.Features.Task, Skills: e.Decision.Input.Features.Skills, Predictor: e.Decision.Input.Predictor,
		}
		select {
		case s.waiting <- r:
		default:
		}
	}
}

// Run writes collected signals until ctx is cancelled.
func (s *Collector) Run(ctx context.Context) {
	tick := time.NewTicker(signalPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if batch := s.gathered(); len(batch) > 0 {
			s.report(s.write(ctx, batch))
		}
	}
}

func (s *Collector) gathered() []feedback.Rating {
	var batch []feedback.Rating
	for {
		select {
		case r := <-s.waiting:
			batch = append(batch, r)
		default:
			return batch
		}
	}
}

// violates reports whether a response to a request for JSON is invalid or does not match the requested schema. It checks only
// complete responses with a stored body.
func violates(e *requestlog.Entry) bool {
	if e.Outcome != requestlog.OK || e.Finish != "stop" || e.Decision.Input.Needs&(llm.JSONMode|llm.JSONSchema) == 0 || e.Body.Streamed {
		return false
	}
	body := e.Body
	body.Request, body.Split = body.JoinedRequest(), false
	request, response := body.Request, body.Response
	if e.Format != "chat" {
		request, response = transcript.ToChat(e.Format, body)
	}
	content := rawjson.Get(response, "choices.0.message.content")
	if len(request) == 0 || content.Kind != rawjson.Text {
		return false
	}
	var value any
	if json.Unmarshal([]byte(content.String()), &value) != nil {
		return true
	}
	schema := rawjson.Get(request, "response_format.json_schema.schema")
	if !schema.IsObject() {
		return false
	}
	return !conforms(value, schema.Raw)
}

// conforms reports whether a value matches a schema. It returns true for an invalid schema.
func conforms(value any, schema string) bool {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(schema)))
	if err != nil {
		return true
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // do not load external schemas
	if compiler.AddResource("schema.json", document) != nil {
		return true
	}
	compiled, err := compiler.Compile("schema.json")
	return err != nil || compiled.Validate(value) == nil
}
