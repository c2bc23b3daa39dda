// Package websearch reads the options of web search tools, which have the same names in several formats.
package websearch

import (
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// Hosted is the type of a web search tool in the Responses format. Web search tools of other formats are converted to
// this type.
const Hosted = "web_search"

// maxDomains is the maximum length of a domain list. Further domains are dropped.
const maxDomains = 100

// Is reports whether a tool type is a web search tool of the Responses format (web_search, web_search_preview) or of the messages format
// (web_search_20250305). The type may have a date as a suffix.
func Is(kind string) bool { return kind == Hosted || strings.HasPrefix(kind, Hosted+"_") }

// Read returns the options of a web search tool in the Responses or messages format, or of web_search_options in the
// chat format.
func Read(v rawjson.Value) *llm.Search {
	s := &llm.Search{
		Allowed: domains(v, "allowed_domains"), Blocked: domains(v, "blocked_domains"),
		MaxUses: max(v.Get("max_uses").Int(), 0), ContextSize: v.Get("search_context_size").String(),
	}
	where := v.Get("user_location")
	if nested := where.Get("approximate"); nested.IsObject() {
		where = nested
	}
	if where.IsObject() {
		s.Place = llm.Place{
			City: where.Get("city").String(), Region: where.Get("region").String(),
			Country: where.Get("country").String(), Zone: where.Get("timezone").String(),
		}
	}
	return s
}

// domains returns the domain list with the given name. In the Responses format, the list is a member of the filters object.
func domains(v rawjson.Value, name string) (list []string) {
	for _, value := range slices.Concat(v.Get(name).List(), v.Get("filters."+name).List()) {
		if domain := value.String(); domain != "" && len(list) < maxDomains {
			list = append(list, domain)
		}
	}
	return list
}

// WritePlace writes the user's approximate location in the form of the Responses and messages formats.
func WritePlace(w *rawjson.Writer, p llm.Place) {
	if p == (llm.Place{}) {
		return
	}
	w.Key("user_location")
	w.Open()
	w.Str("type", "approximate")
	w.OptionalStr("city", p.City)
	w.OptionalStr("region", p.Region)
	w.OptionalStr("country", p.Country)
	w.OptionalStr("timezone", p.Zone)
	w.Close()
}

// WriteDomains writes a list of domains if it is not empty.
func WriteDomains(w *rawjson.Writer, name string, list []string) {
	if len(list) == 0 {
		return
	}
	w.OpenList(name)
	for _, domain := range list {
		w.Element(rawjson.AppendString(nil, domain))
	}
	w.CloseList()
}
