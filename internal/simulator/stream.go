package simulator

import (
	"net/http"
	"time"

	"fairlead.dev/internal/simulator/openai"
)

// writeStream sends the response chunk by chunk at the model's pace.
func (s *Simulator) writeStream(w http.ResponseWriter, r *http.Request, p profile, a openai.Response, fault Fault, wantUsage bool) {
	show := performance{head: len(a.Choices), voices: len(a.Choices)}
	for _, part := range a.Deltas() {
		show.events = append(show.events, string(openai.Encode(a.Chunk(part))))
	}
	if wantUsage && a.Usage != nil {
		last := a.Chunk()
		last.Usage = a.Usage
		show.events = append(show.events, string(openai.Encode(last)))
	}
	show.events = append(show.events, "[DONE]")
	s.play(w, r, p, show, fault)
}

// performance is a stream that is ready to be sent.
type performance struct {
	events []string // data of each event
	head   int      // number of events sent without delay, before the first token
	voices int      // number of choices
}

// play sends a stream at the model's pace, with the fault applied.
func (s *Simulator) play(w http.ResponseWriter, r *http.Request, p profile, show performance, fault Fault) {
	h := w.Header()
	h.Set("Content-Type", openai.EventStream)
	h.Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	half := show.head + (len(show.events)-show.head)/2 // middle of the events after the head
	for i, event := range show.events {
		switch {
		case i == show.head && fault == FaultRoleThenError:
			send(w, errorEvent)
			return
		case i == half && fault == FaultStall:
			<-r.Context().Done()
			return
		case i == half && fault == FaultCut:
			panic(http.ErrAbortHandler)
		}
		if i >= show.head && event != "[DONE]" && !s.wait(r.Context(), pace(p, 1)/time.Duration(show.voices)) {
			return
		}
		if !send(w, event) {
			return
		}
	}
}

// send writes one event and flushes it. It reports whether the client is still connected.
func send(w http.ResponseWriter, data string) bool {
	if _, err := w.Write([]byte(framed(data, true))); err != nil {
		return false
	}
	return http.NewResponseController(w).Flush() == nil
}
