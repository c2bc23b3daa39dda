package providerset

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestModelListFormats(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text    string
		partial bool
	}{
		"OpenAI":    {`{"object":"list","data":[{"id":"one"},{"id":""},{"id":"two"}]}`, false},
		"Anthropic": {`{"data":[{"id":"one"},{"id":"two"}],"has_more":true}`, true},
		"Google":    {`{"models":[{"name":"models/one"},{"name":"models/two"}],"nextPageToken":"x"}`, true},
		"Together":  {` [{"id":"one","type":"chat"},{"id":"two"}]`, false},
	} {
		names, partial, err := decodeModels(strings.NewReader(c.text))
		if diff := cmp.Diff([]string{"one", "two"}, names); diff != "" || partial != c.partial || err != nil {
			t.Errorf("%s: partial %t, %v, names (-want +got):\n%s", name, partial, err, diff)
		}
	}
	for _, text := range []string{``, `"one"`, `[1]`, `<html>`} {
		if names, _, err := decodeModels(strings.NewReader(text)); err == nil {
			t.Errorf("%s: no error, names %v", text, names)
		}
	}
}
