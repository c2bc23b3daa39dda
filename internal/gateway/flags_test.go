package gateway

import (
	"net/http"
	"testing"

	"fairlead.dev/internal/llm"
)

func TestHeaderFlagAcceptsKnownSpellingsOnly(t *testing.T) {
	t.Parallel()
	const name = "X-Fairlead-Dry-Run"
	for value, want := range map[string]bool{
		"true": true, "True": true, "TRUE": true, "t": true, "1": true, "yes": true, "Y": true, "on": true, "\ttrue": true,
		"false": false, "False": false, "f": false, "0": false, "no": false, "N": false, "off": false, "": false,
	} {
		if got, err := headerFlag(http.Header{name: {value}}, name, false); got != want || err != nil {
			t.Errorf("headerFlag of %q = %t, %v; want %t", value, got, err, want)
		}
	}
	for _, values := range [][]string{{"maybe"}, {"2"}, {"truee"}, {"true,false"}, {"true", "false"}, {"true", "true"}, {"\u0442rue"}} {
		_, err := headerFlag(http.Header{name: values}, name, false)
		if e := llm.AsError(err); err == nil || e.Kind != llm.InvalidRequest || e.Param != name {
			t.Errorf("headerFlag of %q: %v, want InvalidRequest for %s", values, err, name)
		}
	}
}
