package llm_test

import (
	"errors"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

var errBroke = errors.New("broke")

// spoken returns a sequence of events with the given names. It ends with err if err is not nil.
func spoken(err error, names ...string) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for _, name := range names {
			if !yield(llm.Event{Name: name}, nil) {
				return
			}
		}
		if err != nil {
			yield(llm.Event{}, err)
		}
	}
}

func TestPullReturnsEventsOfSequence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stream llm.Stream
		want   []string
		err    error
	}{
		"complete":                {llm.Pull(spoken(nil, "a", "b")), []string{"a", "b"}, nil},
		"broken":                  {llm.Pull(spoken(errBroke, "a")), []string{"a"}, errBroke},
		"empty":                   {llm.Pull(spoken(nil)), nil, nil},
		"one event":               {llm.Single(llm.Event{Name: "a"}, nil), []string{"a"}, nil},
		"no event, only an error": {llm.Single(llm.Event{}, errBroke), nil, errBroke},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			var failed error
			for ev, err := range llm.All(c.stream) {
				if err != nil {
					failed = err
					continue
				}
				got = append(got, ev.Name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || !errors.Is(failed, c.err) {
				t.Errorf("events (-want +got):\n%serror %v, want %v", diff, failed, c.err)
			}
		})
	}
}

func TestStreamEndIsFinal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stream llm.Stream
		err    error
	}{
		"pulled": {llm.Pull(spoken(nil, "a")), nil},
		"broken": {llm.Pull(spoken(errBroke, "a")), errBroke},
		"single": {llm.Single(llm.Event{Name: "a"}, nil), nil},
	} {
		if _, ok, err := c.stream.Next(); !ok || err != nil {
			t.Fatalf("%s: first Next = %t, %v; want an event", name, ok, err)
		}
		for range 3 {
			if _, ok, err := c.stream.Next(); ok || !errors.Is(err, c.err) {
				t.Errorf("%s: Next after the end = %t, %v; want false, %v", name, ok, err, c.err)
			}
		}
		c.stream.Close()
	}
}

func TestCloseStopsSequence(t *testing.T) {
	t.Parallel()
	ended := false
	stream := llm.Pull(func(yield func(llm.Event, error) bool) {
		defer func() { ended = true }()
		for yield(llm.Event{}, nil) {
		}
	})
	if _, ok, _ := stream.Next(); !ok {
		t.Fatal("the stream has no first event")
	}
	stream.Close()
	if !ended {
		t.Error("the sequence was not stopped")
	}
}
