package response

import (
	"fmt"
	"io"
	"net/http/httptest"
	"testing"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
)

func TestDeferredEventsAreSentByFlush(t *testing.T) {
	t.Parallel()
	to := &flushCounter{ResponseRecorder: httptest.NewRecorder()}
	w := NewWriter(to, lines{}, Options{Pause: time.Minute, Hold: time.Hour, Ping: time.Hour})
	w.Stream()
	w.Start(&requestlog.Entry{})
	for _, data := range []string{"a", "b"} {
		if err := w.Event(&llm.Event{Data: []byte(data)}); err != nil {
			t.Fatal(err)
		}
	}
	if to.flushes != 0 || !w.Unflushed() {
		t.Errorf("flushed %d times before Flush, Unflushed = %t; want 0, true", to.flushes, w.Unflushed())
	}
	w.Flush()
	w.Flush()
	if got := to.Body.String(); to.flushes != 1 || w.Unflushed() || got != "a\nb\n" {
		t.Errorf("flushed %d times, Unflushed = %t, sent %q; want 1, false and both events", to.flushes, w.Unflushed(), got)
	}
}

func TestEventsAreSentImmediately(t *testing.T) {
	t.Parallel()
	to := &flushCounter{ResponseRecorder: httptest.NewRecorder()}
	w := NewWriter(to, lines{}, Options{Pause: time.Minute, Hold: time.Hour, Ping: time.Hour})
	w.Stream()
	for _, data := range []string{"a", "b"} {
		if err := w.Event(&llm.Event{Data: []byte(data)}); err != nil {
			t.Fatal(err)
		}
	}
	if to.flushes != 2 || w.Unflushed() {
		t.Errorf("flushed %d times, Unflushed = %t; want 2, false", to.flushes, w.Unflushed())
	}
}

// flushCounter counts the flushes of a response.
type flushCounter struct {
	*httptest.ResponseRecorder
	flushes int
}

func (f *flushCounter) Flush() { f.flushes++ }

// lines frames each event as a line.
type lines struct{}

func (lines) WriteEvent(w io.Writer, ev llm.Event) error {
	_, err := fmt.Fprintf(w, "%s\n", ev.Data)
	return err
}

func (lines) WriteEnd(w io.Writer) error {
	_, err := io.WriteString(w, "end\n")
	return err
}

func (lines) WriteError(w io.Writer, body []byte, _ int) error {
	_, err := w.Write(body)
	return err
}
