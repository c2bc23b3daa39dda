// Package simulator is a provider with several models that needs no network and no credentials. Every response is marked
// as simulated. It uses the chat format; inprocess.Transport serves it without a port.
package simulator

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/simulator/openai"
)

// maxBody is the maximum size of a request body.
const maxBody = 64 << 20

// Options are the settings of a Simulator.
type Options struct {
	// Latency scales the models' delays: 1 is realistic, 0 disables them.
	Latency float64
	// SlowStart is the delay before the first token with the slow_start fault; 15 s when zero.
	SlowStart time.Duration
	// Now is the clock for the `created` member; time.Now when nil.
	Now func() time.Time
	// Judging sets how models decide when they judge two responses.
	Judging Judging
}

// Simulator responds like a provider with several models. The same request gets the same response.
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
	s.mux.HandleFunc("GET /v1/realtime", s.serveRealtime)
	s.mux.HandleFunc("GET /v1/models", s.serveModels)
	s.mux.HandleFunc("GET /v1/models/{id}", s.serveModel)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, openai.Error{Status: http.StatusNotFound, Message: "Unknown request URL: " + r.Method + " " + r.URL.Path, Type: openai.InvalidRequest})
	})
	return s
}

// ServeHTTP implements http.Handler.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Simulated", "true")
	s.mux.ServeHTTP(w, r)
}

func (s *Simulator) serveModels(w http.ResponseWriter, _ *http.Request) {
	list := []openai.Model{}
	for _, p := range s.profiles {
		list = append(list, openai.NewModel(p.name))
	}
	openai.WriteJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

func (s *Simulator) serveModel(w http.ResponseWriter, r *http.Request) {
	for _, p := range s.profiles {
		if p.name == r.PathValue("id") {
			openai.WriteJSON(w, http.StatusOK, openai.NewModel(p.name))
			return
		}
	}
	writeError(w, unknownModel(r.PathValue("id")))
}

// wait sleeps for d, scaled by Latency. It reports whether the client is still connected.
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

func unknownModel(name string) openai.Error {
	return openai.Error{
		Status: http.StatusNotFound, Type: openai.InvalidRequest, Code: openai.Optional("model_not_found"),
		Message: "The model `" + name + "` does not exist or you do not have access to it.",
	}
}

func writeError(w http.ResponseWriter, e openai.Error) {
	for name, value := range e.Header {
		w.Header().Set(name, value)
	}
	openai.WriteJSON(w, e.Status, map[string]any{"error": e})
}

// decode decodes the body of a request into value.
func decode(r *http.Request, value any) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return openai.BadRequest("The request body could not be read.", "", "")
	}
	if len(body) > maxBody {
		return openai.Error{Status: http.StatusRequestEntityTooLarge, Message: "The request is too large.", Type: openai.InvalidRequest}
	}
	if err := json.Unmarshal(body, value); err != nil {
		return openai.BadRequest("We could not parse the JSON body of your request: "+err.Error(), "", "")
	}
	return nil
}

// lookup returns the named model if it supports op. Otherwise it returns the error that OpenAI would return.
func (s *Simulator) lookup(name string, op llm.Op) (profile, error) {
	if name == "" {
		return profile{}, openai.BadRequest("you must provide a model parameter", "", "")
	}
	known := false
	for _, p := range s.profiles {
		if p.name == name && p.op == op {
			return p, nil
		}
		known = known || p.name == name
	}
	if known {
		return profile{}, openai.BadRequest("The model `"+name+"` does not support this endpoint.", "model", "unsupported_model")
	}
	return profile{}, unknownModel(name)
}
