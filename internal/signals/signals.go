// Package signals collects implicit feedback signals from log entries and writes them in batches.
package signals

import (
	"bytes"
	"context"
	"encoding/json"
	"hash/fnv"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/judge"
	"fairlead.dev/internal/learn"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/transcript"
)

// signalPause is the interval between batches.
const signalPause = time.Second

// Collector collects implicit feedback signals about responses.
type Collector struct {
	waiting chan feedback.Rating
	write   func(context.Context, []feedback.Rating) error
	report  func(error)

	mu   sync.Mutex
	last map[session]feedback.Rating // latest response of each session; Signal is not set
}

// session identifies a session in a workspace.
type session struct{ workspace, id string }

// maxSessions limits the number of sessions whose latest response is stored. Above this number, a random session is removed.
const maxSessions = 10_000

// New returns a collector. It passes signals to write, and errors of write to report.
func New(write func(context.Context, []feedback.Rating) error, report func(error)) *Collector {
	return &Collector{waiting: make(chan feedback.Rating, 1024), write: write, report: report, last: map[session]feedback.Rating{}}
}

// Add collects the signals in an entry about its own response and about the previous response in its session. A repeated prompt is a signal
// about the previous response. For a share of the successful entries without a signal, Add records feedback.Quiet. Signals that arrive
// faster than they can be written are dropped.
func (s *Collector) Add(e *requestlog.Entry) {
	if e.Decision == nil || e.Model == "" {
		return
	}
	in := &e.Decision.Input
	r := feedback.Rating{
		RequestID: e.ID, WorkspaceID: e.WorkspaceID, Source: feedback.FromSignal,
		Rated: feedback.Rated{Model: e.Model, Task: in.Features.Task, Skills: in.Features.Skills, Predictor: in.Predictor},
	}
	found := ownSignals(e)
	for _, name := range found {
		s.add(r, name)
	}
	if len(found) == 0 && e.Outcome == requestlog.OK && in.Predictor != "" {
		h := fnv.New32a() // hash of the ID only, so that every replica selects the same entries
		_, _ = h.Write([]byte(e.ID))
		if float64(h.Sum32()) < learn.QuietShare*math.MaxUint32 {
			s.add(r, feedback.Quiet)
		}
	}
	if e.Session == "" {
		return
	}
	key := session{e.WorkspaceID, e.Session}
	s.mu.Lock()
	before, known := s.last[key]
	if !known && len(s.last) >= maxSessions {
		for old := range s.last {
			delete(s.last, old)
			break
		}
	}
	s.last[key] = r
	s.mu.Unlock()
	if before.RequestID == "" || in.Predictor == "" {
		return
	}
	if slices.Contains(e.Signals, string(feedback.Retry)) {
		s.add(before, feedback.Retry)
	}
	if in.Conversation.Trouble.Failing > 0 {
		s.add(before, feedback.FailedTool)
	}
	if in.Conversation.Trouble.RepeatedAsks > 0 {
		s.add(before, feedback.Reask)
	}
}

func (s *Collector) add(r feedback.Rating, signal feedback.Signal) {
	r.Signal = signal
	select {
	case s.waiting <- r:
	default:
	}
}

// ownSignals returns the signals in an entry about its own response.
func ownSignals(e *requestlog.Entry) []feedback.Signal {
	var found []feedback.Signal
	for _, name := range e.Signals {
		if name != string(feedback.Retry) {
			found = append(found, feedback.Signal(name))
		}
	}
	if violates(e) {
		found = append(found, feedback.SchemaViolation)
	}
	if callsInvalidTool(e) {
		found = append(found, feedback.InvalidToolCall)
	}
	if e.Outcome == requestlog.Cancelled && e.Stream && e.TTFT > 0 {
		found = append(found, feedback.Abandoned)
	}
	return found
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
	request, response := exchange(e)
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

// exchange returns the stored request and response in the chat format.
func exchange(e *requestlog.Entry) (request, response []byte) {
	body := e.Body
	body.Request, body.Split = body.JoinedRequest(), false
	if e.Format == "chat" {
		return body.Request, body.Response
	}
	return transcript.ToChat(e.Format, body)
}

// callsInvalidTool reports whether a response calls an unknown tool or has arguments that do not match its schema. It checks only complete
// responses with a stored body.
func callsInvalidTool(e *requestlog.Entry) bool {
	if e.Outcome != requestlog.OK || e.Finish != "tool_calls" || e.Body.Streamed {
		return false
	}
	request, response := exchange(e)
	if len(request) == 0 {
		return false
	}
	parsed, ok := judge.ParseResponse(response)
	return ok && len(parsed.Calls) > 0 && !judge.ValidCalls(request, parsed.Calls)
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
