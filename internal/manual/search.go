package manual

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// sections returns the sections of all pages, sorted by page.
func (c *content) sections() []section {
	var list []section
	for _, name := range slices.Sorted(maps.Keys(c.pages)) {
		list = append(list, c.pages[name].render().sections...)
	}
	return list
}

// find returns the best sections that contain all terms.
func find(sections []section, terms []string) []result {
	var found []result
	for i := range sections {
		if score := score(&sections[i], terms); score > 0 {
			found = append(found, newResult(&sections[i], terms, score))
		}
	}
	slices.SortStableFunc(found, func(a, b result) int { return cmp.Compare(b.score, a.score) })
	return found[:min(len(found), maxResults)]
}

// score rates a section: matches in the heading count most, then those in the title of the page. Decisions are for developers
// and come after guides.
func score(s *section, terms []string) int {
	title, pageTitle, text := strings.ToLower(s.title), strings.ToLower(s.page.title), strings.ToLower(s.text)
	total := 0
	for _, term := range terms {
		n := min(strings.Count(text, term), 5)
		if strings.Contains(title, term) {
			n += 30
		}
		if n > 0 && strings.Contains(pageTitle, term) {
			n += 10
		}
		if n == 0 {
			return 0
		}
		total += n
	}
	if strings.HasPrefix(s.page.name, "decisions/") {
		return max(1, total/8)
	}
	return total
}

func newResult(s *section, terms []string, score int) result {
	r := result{URL: s.page.url(), Page: s.page.title, Title: s.title, score: score}
	if s.id != "" {
		r.URL += "#" + s.id
	}
	at, term := -1, ""
	lower := strings.ToLower(s.text)
	for _, t := range terms {
		if i := strings.Index(lower, t); i >= 0 {
			at, term = i, t
			break
		}
	}
	if at < 0 || len(lower) != len(s.text) { // some letters change their length in lower case
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

// cutWords shortens a text to about n bytes at a space.
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
