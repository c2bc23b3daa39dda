package manual

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// searchable is a section with lower-case copies of its title, page title and text.
type searchable struct {
	section
	lowTitle, lowPage, lowText string
}

// sections returns the sections of all pages, sorted by page.
func (c *content) sections() []searchable {
	var list []searchable
	for _, name := range slices.Sorted(maps.Keys(c.pages)) {
		for _, s := range c.pages[name].render().sections {
			list = append(list, searchable{s, strings.ToLower(s.title), strings.ToLower(s.page.title), strings.ToLower(s.text)})
		}
	}
	return list
}

// find returns the best sections that contain all terms.
func find(sections []searchable, terms []string) []result {
	type match struct{ score, section int }
	var found []match
	for i := range sections {
		if score := sections[i].score(terms); score > 0 {
			found = append(found, match{score, i})
		}
	}
	slices.SortStableFunc(found, func(a, b match) int { return cmp.Compare(b.score, a.score) })
	var results []result
	for _, m := range found[:min(len(found), maxResults)] {
		results = append(results, sections[m.section].result(terms))
	}
	return results
}

// score returns the score of a section for search terms. Matches in the heading count most, followed by matches in the page title.
func (s *searchable) score(terms []string) int {
	total := 0
	for _, term := range terms {
		n := min(strings.Count(s.lowText, term), 5)
		if strings.Contains(s.lowTitle, term) {
			n += 30
		}
		if n > 0 && strings.Contains(s.lowPage, term) {
			n += 10
		}
		if n == 0 {
			return 0
		}
		total += n
	}
	return total
}

// result returns the section with an excerpt around the first term.
func (s *searchable) result(terms []string) result {
	r := result{URL: s.page.url(), Page: s.page.title, Title: s.title}
	if s.id != "" {
		r.URL += "#" + s.id
	}
	at, term := -1, ""
	for _, t := range terms {
		if i := strings.Index(s.lowText, t); i >= 0 {
			at, term = i, t
			break
		}
	}
	if at < 0 || len(s.lowText) != len(s.text) { // no match in the text, or letters that change their length in lower case
		r.After = cutWords(s.text, excerptLen)
		return r
	}
	start := max(0, at-excerptLen/2)
	for start > 0 && s.text[start-1] != ' ' {
		start--
	}
	end := at + len(term)
	r.Before, r.Match, r.After = s.text[start:at], s.text[at:end], cutWords(s.text[end:], excerptLen/2)
	if start > 0 {
		r.Before = "… " + r.Before
	}
	return r
}

// cutWords truncates text to about n bytes, at a space.
func cutWords(text string, n int) string {
	if len(text) <= n {
		return text
	}
	if i := strings.LastIndexByte(text[:n], ' '); i > 0 {
		return text[:i] + " …"
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
