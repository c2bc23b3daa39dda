package llm

import (
	"encoding/json"
	"testing"
)

func TestParseTokenCountAcceptsEverySpelling(t *testing.T) {
	t.Parallel()
	for spelling, want := range map[string]TokenCount{
		"1000": 1000, "1000.0": 1000, "1e3": 1000, "1.0E+3": 1000, "10000e-1": 1000, `"1000"`: 1000, "0": 0, "-0": 0, "0e9": 0,
		"1000000000000": MaxTokenCount, "1e12": MaxTokenCount,
		"1000000000001": -1, "1e13": -1, "1e400": -1, "-1": -1, "-1e3": -1, "1000.5": -1, "1e-3": -1, `"many"`: -1, `"Inf"`: -1, "{}": -1, "true": -1,
	} {
		var got TokenCount
		if err := json.Unmarshal([]byte(spelling), &got); err != nil || got != want {
			t.Errorf("%s was decoded as %d, %v; want %d", spelling, got, err, want)
		}
	}
}
