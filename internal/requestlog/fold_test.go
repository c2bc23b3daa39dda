package requestlog

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func folded(events ...[]byte) []byte {
	var f Folder
	var out []byte
	for _, event := range events {
		head, news := f.Fold(event)
		out = append(append(out, head...), news...)
	}
	return out
}

func TestUnfoldRestoresTheEvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Use only two letters, so that events have common prefixes and suffixes of every length, including ones that overlap.
		event := rapid.SliceOfN(rapid.SampledFrom([]byte("ab")), 0, 40)
		events := rapid.SliceOfN(event, 1, 8).Draw(t, "events")
		b := Body{Response: folded(events...), Folded: true}
		b.Unfold()
		if want := bytes.Join(events, []byte("\n")); len(events[0]) > 0 && !bytes.Equal(b.Response, want) || b.Folded {
			t.Fatalf("Unfold of %q = %q", want, b.Response)
		}
	})
}

func TestFoldedStreamIsLittleLongerThanItsText(t *testing.T) {
	t.Parallel()
	var events [][]byte
	text := 0
	for i := range 1000 {
		word := fmt.Sprintf("word%d ", i)
		text += len(word)
		events = append(events, fmt.Appendf(nil, `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`, word))
	}
	if size := len(folded(events...)); size > text+4*len(events) {
		t.Errorf("%d bytes of text in %d bytes of events were folded to %d, want at most %d",
			text, len(bytes.Join(events, nil)), size, text+4*len(events))
	}
}

func TestUnfoldStopsAtTruncatedInput(t *testing.T) {
	t.Parallel()
	lines := []byte("one two\none too\none to")
	whole := folded(bytes.Split(lines, []byte("\n"))...)
	for cut := range whole {
		b := Body{Response: slices.Clone(whole[:cut]), Folded: true}
		b.Unfold()
		if !bytes.HasPrefix(lines, b.Response) {
			t.Errorf("Unfold of %d bytes = %q, want a prefix of the lines", cut, b.Response)
		}
	}
}

func FuzzUnfold(f *testing.F) {
	f.Add(folded([]byte("one two"), []byte("one too")))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 200 { // a few bytes may encode very many equal events
			unfold(data)
		}
	})
}
