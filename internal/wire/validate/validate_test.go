package validate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/strict"
)

// read decodes a body with the fields of Controls and Metadata and with max_tokens. It returns the request and the problems in order.
func read(t *testing.T, body string) (*llm.Request, []strict.Problem) {
	t.Helper()
	self := func(req *llm.Request) *llm.Request { return req }
	fields := NewObject(append(Controls(self),
		Metadata(self),
		Int("max_tokens", 1, MaxTokens, func(req *llm.Request, n int64) { req.MaxOutput = n }),
	)...)
	req := &llm.Request{}
	r := Reader{Scanner: rawjson.Scanner{Data: []byte(body)}}
	for key := range r.Members {
		fields.ReadMember(&r, key, req)
	}
	if r.Err != nil {
		t.Fatalf("%s: %v", body, r.Err)
	}
	if r.Valid() != (r.Reject() == nil) {
		t.Errorf("Valid = %t, but Reject = %v", r.Valid(), r.Reject())
	}
	return req, r.problems
}

// params returns the paths of problems.
func params(problems []strict.Problem) []string {
	var list []string
	for _, p := range problems {
		list = append(list, p.Param)
	}
	return list
}

func TestLimitsOfSingleValues(t *testing.T) {
	t.Parallel()
	names := func(n int) string { return strings.TrimSuffix(strings.Repeat(`"m",`, n), ",") }
	for name, tc := range map[string]struct {
		body string
		want []string
	}{
		"the longest valid name":      {`{"model":"` + strings.Repeat("m", MaxName) + `"}`, nil},
		"a name above the limit":      {`{"model":"` + strings.Repeat("m", MaxName+1) + `"}`, []string{"model"}},
		"a name of white space":       {`{"model":" \t"}`, []string{"model"}},
		"a name with a line break":    {`{"model":"a\nb"}`, []string{"model"}},
		"the maximum number of names": {`{"models":[` + names(maxNames) + `]}`, nil},
		"too many names":              {`{"models":[` + names(maxNames+3) + `]}`, []string{"models"}},
		"the smallest integer":        {`{"max_tokens":1}`, nil},
		"the largest integer":         {fmt.Sprintf(`{"max_tokens":%d}`, int64(MaxTokens)), nil},
		"an integer above the limit":  {fmt.Sprintf(`{"max_tokens":%d}`, int64(MaxTokens)+1), []string{"max_tokens"}},
		"an integer that overflows":   {`{"max_tokens":99999999999999999999}`, []string{"max_tokens"}},
		"a fraction":                  {`{"max_tokens":1.5}`, []string{"max_tokens"}},
		"a price of zero":             {`{"provider":{"max_price":{"prompt":0}}}`, nil},
		"a price that is not finite":  {`{"provider":{"max_price":{"prompt":"Inf"}}}`, []string{"provider.max_price.prompt"}},
		"a price that is not numeric": {`{"provider":{"max_price":{"prompt":"cheap"}}}`, []string{"provider.max_price.prompt"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := read(t, tc.body)
			if diff := cmp.Diff(tc.want, params(problems)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMetadataIsShortened(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range maxLabels + 5 {
		fmt.Fprintf(&b, `,"key%d":"%s"`, i, strings.Repeat("v", maxLabel+1))
	}
	got, problems := read(t, `{"metadata":{`+b.String()[1:]+`}}`)
	if len(problems) > 0 || len(got.Metadata) != maxLabels {
		t.Errorf("%d labels, problems %v; want %d labels", len(got.Metadata), problems, maxLabels)
	}
	for key, value := range got.Metadata {
		if len(value) > maxLabel {
			t.Errorf("%s has %d bytes, want at most %d", key, len(value), maxLabel)
		}
	}
}
