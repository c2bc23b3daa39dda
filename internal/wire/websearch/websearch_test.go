package websearch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func TestReadOptionsOfEveryFormat(t *testing.T) {
	t.Parallel()
	place := llm.Place{City: "Köln", Region: "NRW", Country: "DE", Zone: "Europe/Berlin"}
	const flat = `"city":"Köln","region":"NRW","country":"DE","timezone":"Europe/Berlin"`
	for name, c := range map[string]struct {
		body string
		want llm.Search
	}{
		"chat":      {`{"search_context_size":"high","user_location":{"type":"approximate","approximate":{` + flat + `}}}`, llm.Search{ContextSize: "high", Place: place}},
		"responses": {`{"type":"web_search","filters":{"allowed_domains":["a.example"]},"user_location":{"type":"approximate",` + flat + `}}`, llm.Search{Allowed: []string{"a.example"}, Place: place}},
		"messages":  {`{"type":"web_search_20250305","max_uses":3,"blocked_domains":["b.example"],"user_location":{"type":"approximate",` + flat + `}}`, llm.Search{Blocked: []string{"b.example"}, MaxUses: 3, Place: place}},
		"nothing":   {`{}`, llm.Search{}},
		"wrong":     {`{"max_uses":-1,"allowed_domains":"a","user_location":1,"filters":[]}`, llm.Search{}},
	} {
		if diff := cmp.Diff(c.want, *Read([]byte(c.body))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	many := fmt.Sprintf(`{"allowed_domains":[%s"z"]}`, strings.Repeat(`"a.example",`, 1000))
	if n := len(Read([]byte(many)).Allowed); n != maxDomains {
		t.Errorf("%d domains, want %d", n, maxDomains)
	}
}

func TestTypesOfWebSearchTools(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]bool{
		"web_search": true, "web_search_preview": true, "web_search_preview_2025_03_11": true, "web_search_20250305": true,
		"": false, "function": false, "web_searcher": false, "file_search": false,
	} {
		if Is(kind) != want {
			t.Errorf("Is(%q) = %t, want %t", kind, !want, want)
		}
	}
}
