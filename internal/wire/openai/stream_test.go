package openai

import (
	"fmt"
	"strings"
	"testing"
)

func TestEventsStayValidAfterTheReaderIsReused(t *testing.T) {
	t.Parallel()
	const answer = `{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"%s"},"finish_reason":"stop"}]}`
	read := func(says string) []byte {
		r := Read(strings.NewReader(fmt.Sprintf(answer, says)), EventOptions{Model: "ours"})
		defer r.Close()
		ev, ok, err := r.Next()
		if !ok || err != nil || !ev.Own {
			t.Fatalf("ok = %t, Own = %t, error %v; want true, true", ok, ev.Own, err)
		}
		return ev.Data
	}
	first := read("Aye.")
	want := string(first)
	for range 100 {
		read("Nay, nay.")
	}
	if string(first) != want || !strings.Contains(want, `"ours"`) {
		t.Errorf("a later response changed the first one to %s", first)
	}
}

func TestClosedStreamReturnsAnError(t *testing.T) {
	t.Parallel()
	const stream = `data: {"id":"c","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	for name, events := range map[string]int{"before its end": 1, "at its end": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Read(strings.NewReader(stream), EventOptions{Stream: true})
			for range events {
				if _, _, err := r.Next(); err != nil {
					t.Fatal(err)
				}
			}
			r.Close()
			r.Close()
			if _, ok, err := r.Next(); ok || (err == nil) != (events == 2) {
				t.Errorf("Next after Close = %t, %v; want false", ok, err)
			}
		})
	}
}
