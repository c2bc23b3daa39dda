// Package mockprovider is a provider that needs no network: a Simulator with several models for demonstrations, whose
// every answer says that it is simulated, and a Mock that tests script call by call. Both speak the chat format as
// http.Handler; Transport serves a handler without a port.
package mockprovider

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"fairlead/internal/llm"
)

// maxBody bounds what the simulator reads of a request.
const maxBody = 64 << 20

// Options are the settings of a Simulator.
type Options struct {
	// Latency scales the models' waiting times: 1 is as slow as life, 0 does not wait at all.
	Latency float64
	// SlowStart is how long the slow_start fault waits for the first token; 15 s when zero.
	SlowStart time.Duration
	// Now is the clock for the `created` member; time.Now when nil.
	Now func() time.Time
}

// Simulator answers like a provider with several models. The same request gets the same answer.
type Simulator struct {
	options  Options
	profiles []profile
	mux      *http.ServeMux
	cache    *prefixCache
	faults   *faultBox
}

// NewSimulator returns a simulator with all its models and no faults.
func NewSimulator(o Options) *Simulator {
	if o.SlowStart <= 0 {
		o.SlowStart = 15 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Simulator{options: o, profiles: profiles(), mux: http.NewServeMux(), cache: newPrefixCache(), faults: &faultBox{}}
	s.mux.HandleFunc("POST /v1/chat/completions", s.serveChat)
	s.mux.HandleFunc("POST /v1/embeddings", s.serveEmbeddings)
	s.mux.HandleFunc("POST /v1/completions", s.servePrompt)
	s.mux.HandleFunc("POST /v1/moderations", s.serveModerations)
	s.mux.HandleFunc("GET /v1/models", s.serveModels)
	s.mux.HandleFunc("GET /v1/models/{id}", s.serveModel)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, apiError{status: http.StatusNotFound, Message: "Unknown request URL: " + r.Method + " " + r.URL.Path, Type: invalidRequest})
	})
	return s
}

// ServeHTTP answers one request.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Simulated", "true")
	s.mux.ServeHTTP(w, r)
}

type modelObject struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func (s *Simulator) serveModels(w http.ResponseWriter, _ *http.Request) {
	list := []modelObject{}
	for _, p := range s.profiles {
		list = append(list, modelOf(p.name))
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

func (s *Simulator) serveModel(w http.ResponseWriter, r *http.Request) {
	for _, p := range s.profiles {
		if p.name == r.PathValue("id") {
			writeJSON(w, http.StatusOK, modelOf(p.name))
			return
		}
	}
	writeError(w, unknownModel(r.PathValue("id")))
}

func modelOf(name string) modelObject {
	return modelObject{ID: name, Object: "model", Created: 1_790_000_000, OwnedBy: strings.ToLower(vendor)}
}

// wait lets d pass at the simulator's pace. It reports whether the caller is still there.
func (s *Simulator) wait(ctx context.Context, d time.Duration) bool {
	return sleep(ctx, time.Duration(float64(d)*s.options.Latency))
}

func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

const invalidRequest = "invalid_request_error"

// apiError is the error object of the chat format.
type apiError struct {
	status  int
	header  map[string]string
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (e apiError) Error() string { return e.Message }

func badRequest(message, param, code string) apiError {
	return apiError{status: http.StatusBadRequest, Message: message, Type: invalidRequest, Param: optional(param), Code: optional(code)}
}

func unknownModel(name string) apiError {
	return apiError{
		status: http.StatusNotFound, Type: invalidRequest, Code: optional("model_not_found"),
		Message: "The model `" + name + "` does not exist or you do not have access to it.",
	}
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func writeError(w http.ResponseWriter, e apiError) {
	for name, value := range e.header {
		w.Header().Set(name, value)
	}
	writeJSON(w, e.status, map[string]any{"error": e})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(encode(value), '\n'))
}

// encode writes a value of our own types as JSON, as providers do: without escaping <, > and &.
func encode(value any) []byte {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic("mockprovider: encode an answer: " + err.Error()) // the types are ours: a defect
	}
	return []byte(strings.TrimSuffix(out.String(), "\n"))
}

// decode reads the body of a request into value.
func decode(r *http.Request, value any) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, value); err != nil {
		return badRequest("We could not parse the JSON body of your request: "+err.Error(), "", "")
	}
	return nil
}

// lookup finds the model of a request, or says as OpenAI would that there is none.
func (s *Simulator) lookup(name string, op llm.Op) (profile, error) {
	if name == "" {
		return profile{}, badRequest("you must provide a model parameter", "", "")
	}
	p, ok := s.profile(name, op)
	if ok {
		return p, nil
	}
	for _, other := range s.profiles {
		if other.name == name {
			return profile{}, badRequest("The model `"+name+"` does not support this endpoint.", "model", "unsupported_model")
		}
	}
	return profile{}, unknownModel(name)
}
