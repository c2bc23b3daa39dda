package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFieldKeepsNameAndValueApart(t *testing.T) {
	t.Parallel()
	p := Page{Width: 40}
	p.Field("key", "ci")
	p.Field("capabilities", "tools, vision, files, json_mode, logprobs")
	p.Field("a name of 20 columns", "value")
	want := `  key           ci
  capabilities  tools, vision, files,
                json_mode, logprobs
  a name of 20 columns  value
`
	if diff := cmp.Diff(want, p.String()); diff != "" {
		t.Error(diff)
	}
}
