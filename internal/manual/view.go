package manual

import (
	"html/template"
	"strings"
)

// view holds the data of the page template.
type view struct {
	Title    string
	Body     template.HTML
	Groups   []group
	Sections []navLink // headings of the page
	Markdown string    // address of the Markdown version of the page
	Current  string    // address of the page
	Query    string
	Results  []result
	Searched bool
}

// view returns the view of a page.
func (c *content) view(p *page) view {
	r := p.render()
	v := view{Title: p.title, Body: r.html, Groups: c.groups, Current: p.url(), Markdown: Prefix + "/" + p.name + ".md"}
	for _, s := range r.sections {
		if s.level == 2 && p.name != home {
			v.Sections = append(v.Sections, navLink{URL: "#" + s.id, Title: s.title})
		}
	}
	return v
}

// missing returns the view for an unknown address.
func (c *content) missing() view {
	return view{
		Title: "Page not found", Groups: c.groups,
		Body: "<h1>Page not found</h1>\n<p>This page does not exist. Search, or choose a page from the navigation.</p>",
	}
}

// Search limits.
const (
	maxQuery   = 200
	maxTerms   = 8
	maxResults = 30
	excerptLen = 160
)

// result is one section that matches a search. The excerpt is split around the first match.
type result struct {
	URL, Page, Title     string
	Before, Match, After string
}

// results returns the view of a search. A section matches when it contains every term.
func (c *content) results(query string) view {
	query = strings.ToValidUTF8(strings.TrimSpace(query), "")
	if len(query) > maxQuery {
		query = strings.ToValidUTF8(query[:maxQuery], "")
	}
	v := view{Title: "Search", Groups: c.groups, Query: query, Searched: true, Current: Prefix + "/search"}
	terms := strings.Fields(strings.ToLower(query))
	terms = terms[:min(len(terms), maxTerms)]
	if len(terms) > 0 {
		v.Results = find(c.search(), terms)
	}
	return v
}
