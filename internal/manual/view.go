package manual

import (
	_ "embed"
	"fmt"
	"html"
	"strings"
)

// view holds the data of a page.
type view struct {
	Title    string
	Body     string // HTML
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

//go:embed page.html
var layout string

// html returns the page. It is not a template, because templates call methods by name: with them, the linker would keep every
// exported method of the program.
func (v view) html() []byte {
	title, alternate := v.Title, ""
	if v.Current != Prefix {
		title += " · Fairlead documentation"
	}
	content := "<article>\n" + v.Body + "\n</article>\n"
	switch {
	case v.Searched:
		content = v.found()
	case len(v.Sections) > 2:
		content = "<details class=\"contents\"><summary>On this page</summary>\n" + list(v.Sections, "") + "</details>\n" + content
	}
	if v.Markdown != "" {
		alternate = fmt.Sprintf("<link rel=\"alternate\" type=\"text/markdown\" href=\"%s\">\n", html.EscapeString(v.Markdown))
		content += fmt.Sprintf("<footer><a href=\"%s\">This page as Markdown</a></footer>\n", html.EscapeString(v.Markdown))
	}
	var navigation strings.Builder
	for _, g := range v.Groups {
		fmt.Fprintf(&navigation, "<h2>%s</h2>\n%s", html.EscapeString(g.Title), list(g.Links, v.Current))
	}
	return []byte(strings.NewReplacer(
		"{title}", html.EscapeString(title), "{alternate}", alternate, "{query}", html.EscapeString(v.Query),
		"{navigation}", navigation.String(), "{content}", content,
	).Replace(layout))
}

// list returns links as an HTML list. It marks the link to the current page.
func list(links []navLink, current string) string {
	var b strings.Builder
	b.WriteString("<ul>\n")
	for _, l := range links {
		mark := ""
		if l.URL == current {
			mark = ` aria-current="page"`
		}
		fmt.Fprintf(&b, "<li><a href=\"%s\"%s>%s</a></li>\n", html.EscapeString(l.URL), mark, html.EscapeString(l.Title))
	}
	b.WriteString("</ul>\n")
	return b.String()
}

// found returns the results of a search as HTML.
func (v view) found() string {
	var b strings.Builder
	b.WriteString("<h1>Search</h1>\n")
	query := html.EscapeString(v.Query)
	switch {
	case v.Query == "":
		b.WriteString("<p>Enter a word above, such as <a href=\"/docs/search?q=budget\">budget</a> or an error code.</p>\n")
		return b.String()
	case len(v.Results) == 0:
		fmt.Fprintf(&b, "<p>No results for <strong>%s</strong>. Use fewer or shorter words.</p>\n", query)
		return b.String()
	}
	fmt.Fprintf(&b, "<p>Results for <strong>%s</strong></p>\n<ol class=\"results\">\n", query)
	for _, r := range v.Results {
		page, match := "", ""
		if r.Page != r.Title {
			page = ` <span class="page">` + html.EscapeString(r.Page) + "</span>"
		}
		if r.Match != "" {
			match = "<mark>" + html.EscapeString(r.Match) + "</mark>"
		}
		fmt.Fprintf(&b, "<li><a href=\"%s\">%s</a>%s\n<p>%s%s%s</p></li>\n", html.EscapeString(r.URL), html.EscapeString(r.Title), page,
			html.EscapeString(r.Before), match, html.EscapeString(r.After))
	}
	b.WriteString("</ol>\n")
	return b.String()
}
