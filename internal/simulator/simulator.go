// Package simulator is a provider without models: it speaks every API format that the gateway speaks and responds with short texts.
// A Simulator serves the simulated models of a gateway without providers, and a Mock follows the script of a test. Transport serves
// both without a port.
package simulator

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
)

// Options are the settings of a Simulator.
type Options struct {
	// Latency scales the models' delays: 1 is realistic, 0 disables them.
	Latency float64
	// Judging sets how models decide when they judge two responses.
	Judging Judging
}

// Simulator responds like a provider with several models. The same request gets the same response, except for cached tokens.
type Simulator struct {
	options  Options
	profiles []profile
	mock     *Mock
}

// NewSimulator returns a simulator with all its models.
func NewSimulator(o Options) *Simulator {
	s := &Simulator{options: o, profiles: profiles(), mock: NewMock()}
	names := []string{}
	for _, p := range s.profiles {
		names = append(names, p.name)
	}
	s.mock.SetModels(names...)
	s.mock.Answer, s.mock.discards = s.answer, true
	return s
}

// ServeHTTP implements http.Handler.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Simulated", "true")
	if strings.HasSuffix(r.URL.Path, "/realtime") {
		s.serveRealtime(w, r)
		return
	}
	s.mock.ServeHTTP(w, r)
}

// answer returns the behaviour of the requested model.
func (s *Simulator) answer(c *Call) Behaviour {
	op := llm.Chat
	switch {
	case strings.HasSuffix(c.Path, "/embeddings"):
		op = llm.Embed
	case strings.HasSuffix(c.Path, "/moderations"):
		op = llm.Moderate
	}
	i := slices.IndexFunc(s.profiles, func(p profile) bool { return p.name == c.Model })
	switch {
	case i < 0:
		return Behaviour{Status: http.StatusNotFound, Message: "The model `" + c.Model + "` does not exist.", Code: "model_not_found"}
	case s.profiles[i].op != op:
		return Behaviour{Status: http.StatusBadRequest, Message: "The model `" + c.Model + "` does not support this endpoint."}
	}
	p := s.profiles[i]
	b := Behaviour{}
	if fault := faultOf(c.document().get("metadata", "simulate").text(), c.Model); fault != "" {
		b = b.withFault(fault, c)
	}
	b.First += s.scaled(p.firstToken)
	b.Gap = s.scaled(p.pace())
	if !c.Stream && op == llm.Chat {
		b.First += 10 * b.Gap
	}
	b.Reply = func(c *Call) *Reply { return s.reply(c.Read(), p) }
	if len(p.dimensions) > 0 {
		b.Dimensions = int(p.dimensions[0])
	}
	return b
}

// pace returns the time that the model needs for one piece of a stream.
func (p profile) pace() time.Duration {
	if p.perSecond == 0 {
		return 0
	}
	return time.Duration(float64(Tokens(pieceLength)) / p.perSecond * float64(time.Second))
}

func (s *Simulator) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * s.options.Latency)
}

// faultOf parses metadata.simulate, a comma-separated list of faults, and returns the first fault that applies to model. A fault with
// the suffix @NAME applies only to the model with that name.
func faultOf(label, model string) string {
	for part := range strings.SplitSeq(label, ",") {
		name, only, limited := strings.Cut(strings.TrimSpace(part), "@")
		if !limited || only == model {
			return name
		}
	}
	return ""
}

const (
	faultMessage = "SIMULATED: the server had an error while processing your request."
	maintenance  = "<!doctype html><html><head><title>Maintenance</title></head><body><h1>Back soon</h1></body></html>\n"
	slowStart    = 15 * time.Second
)

// withFault adds a fault to the behaviour. Numbers are statuses. Unknown names are rejected.
func (b Behaviour) withFault(name string, c *Call) Behaviour {
	if status, err := strconv.Atoi(name); err == nil {
		b = Fail(status)
		b.Message = "SIMULATED: error " + name + " while processing your request."
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			b.Header["Retry-After"] = "2"
		}
		return b
	}
	switch name {
	case "content_filter":
		return Behaviour{Status: http.StatusBadRequest, Message: "SIMULATED: the response was filtered.", Code: "content_filter"}
	case "context_length":
		return Behaviour{Status: http.StatusBadRequest, Message: "SIMULATED: maximum context length is 8192 tokens.", Code: "context_length_exceeded"}
	case "timeout":
		b.Silent = true
	case "reset":
		b.Reset = true
	case "empty":
		b.Body = []byte{}
	case "html":
		b.Body, b.Header = []byte(maintenance), map[string]string{"Content-Type": "text/html; charset=utf-8"}
	case "garbage":
		b = b.withText(`{"id":"chatcmpl-sim","choices":[{"delta":{"con`, c)
	case "error_in_200":
		b = b.withText(string(Encode(openAIError(http.StatusInternalServerError, faultMessage, ""))), c)
	case "slow_start":
		b.First = slowStart
	case "role_then_error":
		b.ErrorAfter = 1
	case "cut":
		b.CutAfter = 4
	case "stall":
		b.SilentAfter, b.Silent = 4, !c.Stream
	case "no_usage":
		b.Usage = "none"
	case "absurd_usage":
		b.Usage = `{"prompt_tokens":-17,"completion_tokens":9000000000000000,"total_tokens":3}`
	default:
		return Behaviour{Status: http.StatusBadRequest, Message: "SIMULATED: unknown fault " + name + " in metadata.simulate."}
	}
	return b
}

// withText replaces the response with a text, as the data of an event in a stream.
func (b Behaviour) withText(text string, c *Call) Behaviour {
	if c.Stream {
		b.Events, b.NoDone = []string{text}, true
	} else {
		b.Body = []byte(text)
	}
	return b
}

// reply composes the response of a model.
func (s *Simulator) reply(c *Conversation, p profile) *Reply {
	r := NewReply(c)
	if p.abilities.Has(llm.Reasoning) && !c.NoThink {
		r.AddThinking("Simulated reasoning about the prompt.", false)
	}
	if calls := c.requestedCalls(); len(calls) > 0 {
		r.AddCalls(c, calls...)
	} else {
		r.AddText(c, s.text(c, p))
	}
	s.mock.CountCached(c, r)
	return r
}

func (s *Simulator) text(c *Conversation, p profile) string {
	if verdict, ok := s.options.Judging.verdict(c, s.profiles); ok {
		return verdict
	}
	if c.Schema != nil {
		return string(Sample(c.Schema))
	}
	text := "This is a simulated answer to “" + quote(c.Prompt()) + "” from " + p.name + ". Connect a provider to get real ones."
	if c.JSON {
		return string(Encode(Object{"answer": text}))
	}
	last := c.lastTurn()
	if results := last.OfKind(ResultPart); len(results) > 0 {
		text = "The tool returned “" + quote(results[0].Text) + "”. " + text
	}
	if n := len(last.OfKind(MediaPart)); n == 1 {
		text = "The prompt has 1 image. " + text
	} else if n > 1 {
		text = fmt.Sprintf("The prompt has %d images. ", n) + text
	}
	if last.Assistant { // the request contains the beginning of the text
		text = strings.TrimPrefix(text, last.Text())
	}
	return text
}

// lastTurn returns the last turn, or an empty one.
func (c *Conversation) lastTurn() Turn {
	if len(c.Turns) == 0 {
		return Turn{}
	}
	return c.Turns[len(c.Turns)-1]
}

// quote returns the beginning of text on one line.
func quote(text string) string {
	const limit = 80
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= limit {
		return string(runes)
	}
	return string(runes[:limit]) + "…"
}

var (
	asksForTool = regexp.MustCompile(`(?i)\b(use|call) (a|the|your) tool\b`)
	asksForTwo  = regexp.MustCompile(`(?i)\b(twice|two times|in parallel|several)\b`)
)

// requestedCalls returns calls to the tools that must be called or that the prompt names. After a tool result, the simulator calls a tool
// again only if the request requires it; otherwise agent loops would never end.
func (c *Conversation) requestedCalls() []Part {
	if c.Never || len(c.Tools) == 0 {
		return nil
	}
	var calls []Part
	prompt := strings.ToLower(c.Prompt())
	if len(c.lastTurn().OfKind(ResultPart)) == 0 {
		for _, t := range c.Tools {
			name := strings.ToLower(t.Name)
			spoken := strings.NewReplacer("_", " ", "-", " ").Replace(name)
			if name != "" && (c.Only == "" || c.Only == t.Name) && (strings.Contains(prompt, name) || strings.Contains(prompt, spoken)) {
				calls = append(calls, t.sampleCall())
			}
		}
		if len(calls) == 0 && asksForTool.MatchString(prompt) {
			calls = append(calls, c.RequiredCall())
		}
	}
	if len(calls) == 0 && c.Must {
		calls = append(calls, c.RequiredCall())
	}
	if len(calls) == 1 && asksForTwo.MatchString(prompt) {
		calls = append(calls, calls[0])
	}
	if c.Single && len(calls) > 1 {
		calls = calls[:1]
	}
	return calls
}
