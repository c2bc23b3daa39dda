// Package websearch reads the options of web search tools, which have the same names in several formats.
package websearch

import (
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/upstream"
)

// Hosted is the type of a web search tool in the Responses format. Web search tools of other formats are converted to
// this type.
const Hosted = "web_search"

// maxDomains is the maximum length of a domain list. Further domains are dropped.
const maxDomains = 100

// Is reports whether a tool type is a web search tool of the Responses format (web_search, web_search_preview) or of the messages format
// (web_search_20250305). The type may have a date as a suffix.
func Is(kind string) bool { return kind == Hosted || strings.HasPrefix(kind, Hosted+"_") }

// Options are the options of a web search tool in the Responses or messages format, or of web_search_options in the chat format.
type Options struct {
	Allowed     []string  `json:"allowed_domains,omitempty"`
	Blocked     []string  `json:"blocked_domains,omitempty"`
	Filters     *Filters  `json:"filters,omitzero"`
	MaxUses     int64     `json:"max_uses,omitzero"`
	ContextSize string    `json:"search_context_size,omitzero"`
	Location    *Location `json:"user_location,omitzero"`
}

// Filters holds the domains in the Responses format.
type Filters struct {
	Allowed []string `json:"allowed_domains,omitempty"`
	Blocked []string `json:"blocked_domains,omitempty"`
}

// Location is the approximate location of the user.
type Location struct {
	Type        string    `json:"type"`
	City        string    `json:"city,omitzero"`
	Region      string    `json:"region,omitzero"`
	Country     string    `json:"country,omitzero"`
	Zone        string    `json:"timezone,omitzero"`
	Approximate *Location `json:"approximate,omitzero"` // the location in the chat format
}

// Read returns the options of a web search tool. Values of the wrong type are ignored.
func Read(definition []byte) *llm.Search {
	var o Options
	if upstream.Decode(definition, &o) != nil {
		return &llm.Search{}
	}
	if f := o.Filters; f != nil {
		o.Allowed, o.Blocked = append(o.Allowed, f.Allowed...), append(o.Blocked, f.Blocked...)
	}
	s := &llm.Search{Allowed: domains(o.Allowed), Blocked: domains(o.Blocked), MaxUses: max(o.MaxUses, 0), ContextSize: o.ContextSize}
	where := o.Location
	if where != nil && where.Approximate != nil {
		where = where.Approximate
	}
	if where != nil {
		s.Place = llm.Place{City: where.City, Region: where.Region, Country: where.Country, Zone: where.Zone}
	}
	return s
}

// domains returns at most maxDomains names.
func domains(list []string) (names []string) {
	for _, name := range list {
		if name != "" && len(names) < maxDomains {
			names = append(names, name)
		}
	}
	return names
}

// LocationOf returns a place in the form of the Responses and messages formats; nil if it is not known.
func LocationOf(p llm.Place) *Location {
	if p == (llm.Place{}) {
		return nil
	}
	return &Location{Type: "approximate", City: p.City, Region: p.Region, Country: p.Country, Zone: p.Zone}
}
