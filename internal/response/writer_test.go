package response

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"fairlead/internal/llm"
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
		t.Errorf("sent %q, counted %d bytes", got, w.Size())
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
