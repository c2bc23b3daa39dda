package simulator

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/simulator/openai"
)

// absurd returns the usage that a faulty provider might report.
func absurd() *openai.Usage {
	return &openai.Usage{
		PromptTokens: -17, CompletionTokens: 9_000_000_000_000_000, TotalTokens: 3,
		PromptDetails: openai.PromptDetails{CachedTokens: 1 << 40},
	}
}

func (s *Simulator) serveChat(w http.ResponseWriter, r *http.Request) {
	var q chatRequest
	if err := decode(r, &q); err != nil {
		writeFailure(w, err)
		return
	}
	fault, err := s.fault(q.Metadata.simulate, q.Model)
	if err != nil {
		writeFailure(w, err)
		return
	}
	if s.fail(w, r, fault, q.Stream) {
		return
	}
	p, a, err := s.answer(&q, r.Header.Get("Authorization"))
	if err != nil {
		writeFailure(w, err)
		return
	}
	switch fault { //nolint:exhaustive // these faults change the response; the others change how it is written
	case FaultNoUsage:
		a.Usage = nil
	case FaultAbsurdUsage:
		a.Usage = absurd()
	}
	if !s.begin(r, p, a, fault) {
		return
	}
	if q.Stream {
		s.writeStream(w, r, p, a, fault, q.StreamOptions.IncludeUsage)
		return
	}
	s.writeAfter(w, r, p, a, openai.Encode(a.Completion()), fault)
}

// answer validates the request and composes the response.
func (s *Simulator) answer(q *chatRequest, caller string) (profile, openai.Response, error) {
	p, err := s.lookup(q.Model, llm.Chat)
	if err != nil {
		return p, openai.Response{}, err
	}
	if err := q.check(p); err != nil {
		return p, openai.Response{}, err
	}
	prompt := q.meter(caller)
	if prompt.tokens > p.context {
		message := fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", p.context, prompt.tokens)
		return p, openai.Response{}, openai.BadRequest(message, "messages", "context_length_exceeded")
	}
	var cached int64
	if p.cached >= 0 {
		cached = s.cache.visit(prompt.steps)
	}
	q.judging, q.models = &s.options.Judging, s.profiles
	a := q.compose(p, prompt.tokens, cached)
	a.ID = fmt.Sprintf("chatcmpl-sim%016x", openai.Hash(q.seed(), q.Model))
	a.Created = s.options.Now().Unix()
	return p, a, nil
}

// begin waits for the model's time to first token. It reports whether the client is still connected.
func (s *Simulator) begin(r *http.Request, p profile, a openai.Response, fault Fault) bool {
	if fault == FaultSlowStart && !sleep(r.Context(), s.options.SlowStart) {
		return false
	}
	d := &openai.Rand{State: openai.Hash(openai.HashSeed, a.ID)}
	jitter := 0.8 + 0.6*d.Float64()
	reading := 1.0
	if a.Usage != nil && a.Usage.PromptTokens > 0 {
		reading += float64(a.Usage.PromptTokens-a.Usage.PromptDetails.CachedTokens) / 20_000
	}
	return s.wait(r.Context(), time.Duration(float64(p.firstToken)*jitter*reading))
}

// pace returns the time that the model needs to generate n tokens.
func pace(p profile, n int) time.Duration {
	return time.Duration(float64(n) / p.perSecond * float64(time.Second))
}

func writeFailure(w http.ResponseWriter, err error) {
	if e, ok := errors.AsType[openai.Error](err); ok {
		writeError(w, e)
		return
	}
	writeError(w, openai.Error{Status: http.StatusInternalServerError, Message: "SIMULATED: internal error in the simulator.", Type: "server_error"})
}

// writeAfter waits for the time that the model needs to generate the longest choice. It then sends the body of the response.
func (s *Simulator) writeAfter(w http.ResponseWriter, r *http.Request, p profile, a openai.Response, body []byte, fault Fault) {
	longest := 0
	for _, c := range a.Choices {
		longest = max(longest, len(c.Reasoning)+len(c.Text)+int(callTokens(c.Calls)))
	}
	if !s.wait(r.Context(), pace(p, longest)) {
		return
	}
	writeBody(w, r, body, fault)
}
