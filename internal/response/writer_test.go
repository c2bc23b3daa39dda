package response

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"fairlead.dev/internal/llm"
)

func TestEventsOfACompleteStreamAreSentWithItsEnd(t *testing.T) {
	t.Parallel()
	to := &flushCounter{ResponseRecorder: httptest.NewRecorder()}
	w := NewWriter(to, lines{}, time.Minute, false)
	w.StartStream(time.Hour, time.Hour)

	if err := w.Events([]llm.Event{{Data: []byte("a")}, {Data: []byte("b")}}, summary{}); err != nil {
		t.Fatal(err)
	}
	early := to.flushes
	if err := w.End(summary{}); err != nil {
		t.Fatal(err)
	}

	if early != 0 || to.flushes != 1 {
		t.Errorf("flushed %d times before the end and %d times in total, want 0 and 1", early, to.flushes)
	}
	if got := to.Body.String(); got != "a\nb\nend\n" || w.Size() != int64(len(got)) {
		t.Errorf("sent %q, Size = %d; want both events and the end", got, w.Size())
	}
}

func TestDeferredEventsAreSentByFlush(t *testing.T) {
	t.Parallel()
	to := &flushCounter{ResponseRecorder: httptest.NewRecorder()}
	w := NewWriter(to, lines{}, time.Minute, false)
	w.StartStream(time.Hour, time.Hour)
	w.DeferFlush()
	for _, data := range []string{"a", "b"} {
		if err := w.Event(&llm.Event{Data: []byte(data)}, summary{}); err != nil {
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
	w := NewWriter(to, lines{}, time.Minute, false)
	w.StartStream(time.Hour, time.Hour)
	for _, data := range []string{"a", "b"} {
		if err := w.Event(&llm.Event{Data: []byte(data)}, summary{}); err != nil {
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

type summary struct{}

func (summary) SetHeaders(http.Header) {}

func (summary) Trace() []byte { return nil }
