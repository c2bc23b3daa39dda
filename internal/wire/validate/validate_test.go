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

func TestProblemsHaveThePathAndOrderOfTheirFields(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body string
		want []string
	}{
		"valid":                     {`{"model":"m","models":["a","b"],"provider":{"max_price":{"prompt":"0.5"}},"unknown":{"model":1}}`, nil},
		"null is absent":            {`{"model":null,"models":null,"provider":null,"session_id":null,"metadata":null,"max_tokens":null}`, nil},
		"order of the body":         {`{"session_id":1,"models":{},"model":[]}`, []string{"session_id", "models", "model"}},
		"nested":                    {`{"provider":{"sort":"random","only":[1],"max_price":{"prompt":-1,"completion":"NaN"}}}`, []string{"provider.sort", "provider.only", "provider.max_price.prompt", "provider.max_price.completion"}},
		"every wrong element":       {`{"models":["a",1,"",null]}`, []string{"models", "models", "models"}},
		"a misspelled key":          {`{"Model":"m","provider":{"ZDR":true}}`, []string{"Model", "provider.ZDR"}},
		"an object of another type": {`{"provider":"openai","metadata":[]}`, []string{"provider", "metadata"}},
		"several problems":          {`{"max_tokens":0,"model":""}`, []string{"max_tokens", "model"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := read(t, tc.body)
			if diff := cmp.Diff(tc.want, params(problems)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, p := range problems {
				if !strings.HasSuffix(p.Message, ".") {
					t.Errorf("%s: %q is not a sentence", p.Param, p.Message)
				}
			}
		})
	}
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

func TestValidValuesAreStored(t *testing.T) {
	t.Parallel()
	got, problems := read(t, `{"model":"m","models":["a","b"],"session_id":"s","service_tier":"flex","max_tokens":7,
		"provider":{"order":["x"],"allow_fallbacks":false,"sort":"price","max_price":{"completion":"2.5"},"data_collection":"deny","zdr":true},
		"metadata":{"team":"a","number":1}}`)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	price := 2.5
	want := &llm.Request{
		Model: "m", ResponseOptions: llm.ResponseOptions{ServiceTier: "flex", MaxOutput: 7}, Labels: llm.Labels{Metadata: map[string]string{"team": "a"}},
		Controls: llm.Controls{
			Models: []string{"a", "b"}, SessionID: "s",
			Provider: llm.ProviderPreferences{
				Order: []string{"x"}, NoFallbacks: true, Sort: "price", MaxPrice: &llm.MaxPrice{Completion: &price},
				DenyCollection: true, ZeroRetention: true,
			},
		},
	}
	if diff := cmp.Diff(want.Controls, got.Controls); diff != "" {
		t.Errorf("controls (-want +got):\n%s", diff)
	}
	type rest struct {
		Model, Tier string
		MaxOutput   int64
		Metadata    map[string]string
	}
	if diff := cmp.Diff(rest{want.Model, want.ServiceTier, want.MaxOutput, want.Metadata}, rest{got.Model, got.ServiceTier, got.MaxOutput, got.Metadata}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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

func TestOnlyTheFirstProblemsAreKept(t *testing.T) {
	t.Parallel()
	var r Reader
	for i := range maxProblems + 5 {
		r.Problem(fmt.Sprintf("field%d", i), "Problem %d.", i)
	}
	if n := len(r.problems); n != maxProblems {
		t.Fatalf("%d problems, want %d", n, maxProblems)
	}
	if err := r.Reject(); err.Kind != llm.InvalidRequest || err.Param != "field0" || err.Message != "Problem 0." {
		t.Errorf("kind %s, param %q, message %q", err.Kind, err.Param, err.Message)
	}
	if last := r.problems[maxProblems-1].Param; last != fmt.Sprintf("field%d", maxProblems-1) {
		t.Errorf("last problem is %s, want the last one below the limit", last)
	}
}

func TestRequireReportsAMissingFieldOnce(t *testing.T) {
	t.Parallel()
	var r Reader
	r.Require("present", true, "Send it.")
	r.Problem("Wrong", "It has the wrong type.")
	r.Require("wrong", false, "Send it.")
	r.Require("missing", false, "Send it.")
	want := []strict.Problem{
		{Param: "Wrong", Message: "It has the wrong type."},
		{Param: "missing", Message: `The field "missing" is missing. Send it.`},
	}
	if diff := cmp.Diff(want, r.problems); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
