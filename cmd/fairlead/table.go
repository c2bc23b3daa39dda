package main

import (
	"strings"
	"unicode"
)

// column of a table. When the table is wider than the terminal, soft columns are narrowed first. If that is not enough, columns
// are hidden, the one with the highest value of hide first.
type column struct {
	title string
	right bool // numbers stand right
	soft  bool
	hide  int // order of hiding; 0 for a column that always stays
}

// narrow returns the minimum width of a soft column.
func (c column) narrow() int { return max(softest, widthOf(c.title)) }

// table is rows under titles: aligned, no borders.
type table struct {
	columns []column
	rows    [][]cell
	indent  int
	least   []int // minimum widths, or hiddenColumn; nil for none
}

// cell is one text of a table and how it is painted on a terminal with colours.
type cell struct {
	text  string
	paint paint
}

// paint is a colour of a terminal, in its own code.
type paint string

const (
	plain  paint = ""
	bold   paint = "1"
	faint  paint = "2"
	red    paint = "31"
	green  paint = "32"
	yellow paint = "33"
)

const (
	gap      = 2 // between columns
	softest  = 6 // minimum width of a soft column, unless its title is wider
	ellipsis = "…"

	hiddenColumn = -1 // width of a column that is not shown
)

// row adds a row of plain texts.
func (t *table) row(texts ...string) {
	cells := make([]cell, len(texts))
	for i, text := range texts {
		cells[i] = cell{text: text}
	}
	t.add(cells...)
}

func (t *table) add(cells ...cell) {
	for i := range cells {
		cells[i].text = clean(cells[i].text)
	}
	t.rows = append(t.rows, cells)
}

// lines are the table's lines, none wider than width; 0 is any width.
func (t *table) lines(width int, coloured bool) []string {
	widths := t.widths(width)
	titles := make([]cell, len(t.columns))
	for i, c := range t.columns {
		titles[i] = cell{c.title, faint}
	}
	lines := []string{t.line(titles, widths, width, coloured)}
	for _, row := range t.rows {
		lines = append(lines, t.line(row, widths, width, coloured))
	}
	return lines
}

// widths returns the columns' widths, hiddenColumn for those that do not fit. Soft columns are narrowed, the widest first.
func (t *table) widths(width int) []int {
	widths := t.naturalWidths()
	for width > 0 && t.narrowest(widths) > width && t.hideOne(widths) {
	}
	total := t.total(widths)
	for width > 0 && total > width {
		widest := -1
		for i, c := range t.columns {
			if c.soft && widths[i] > c.narrow() && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		total--
	}
	return widths
}

// naturalWidths returns the widths that show every cell whole.
func (t *table) naturalWidths() []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = widthOf(c.title)
		if i < len(t.least) {
			if t.least[i] == hiddenColumn {
				widths[i] = hiddenColumn
				continue
			}
			widths[i] = max(widths[i], t.least[i])
		}
		for _, row := range t.rows {
			runsOn := i == len(row)-1 && i < len(t.columns)-1
			if i < len(row) && !runsOn {
				widths[i] = max(widths[i], widthOf(row[i].text))
			}
		}
	}
	return widths
}

// total returns the width of a line.
func (t *table) total(widths []int) int {
	total, shown := t.indent, 0
	for _, w := range widths {
		if w != hiddenColumn {
			total += w
			shown++
		}
	}
	return total + gap*max(0, shown-1)
}

// narrowest returns the width of a line whose soft columns are as narrow as possible.
func (t *table) narrowest(widths []int) int {
	total := t.total(widths)
	for i, c := range t.columns {
		if c.soft && widths[i] > c.narrow() {
			total -= widths[i] - c.narrow()
		}
	}
	return total
}

// hideOne hides the next column in the order of hiding. It reports whether there was one.
func (t *table) hideOne(widths []int) bool {
	next := -1
	for i, c := range t.columns {
		if widths[i] != hiddenColumn && c.hide > 0 && (next < 0 || c.hide > t.columns[next].hide) {
			next = i
		}
	}
	if next < 0 {
		return false
	}
	widths[next] = hiddenColumn
	return true
}

// hidden returns the titles of the columns that do not fit into width.
func (t *table) hidden(width int) []string {
	var titles []string
	for i, w := range t.widths(width) {
		if w == hiddenColumn {
			titles = append(titles, t.columns[i].title)
		}
	}
	return titles
}

// line puts one row together. The last cell of a short row runs on over the columns that it has no cells for.
func (t *table) line(row []cell, widths []int, width int, coloured bool) string {
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", t.indent))
	used := t.indent
	for i, c := range row {
		if widths[i] == hiddenColumn {
			continue
		}
		if used > t.indent {
			b.WriteString(strings.Repeat(" ", gap))
			used += gap
		}
		room, text := widths[i], c.text
		last := i == len(row)-1
		if last && i < len(t.columns)-1 {
			room = widthOf(text)
		}
		if width > 0 {
			room = min(room, max(0, width-used))
		}
		text = shorten(text, room)
		pad := strings.Repeat(" ", max(0, room-widthOf(text)))
		switch {
		case t.columns[i].right:
			b.WriteString(pad + painted(text, c.paint, coloured))
		case last:
			b.WriteString(painted(text, c.paint, coloured))
		default:
			b.WriteString(painted(text, c.paint, coloured) + pad)
		}
		used += room
		if width > 0 && used >= width {
			break
		}
	}
	return strings.TrimRight(b.String(), " ")
}

func painted(text string, p paint, coloured bool) string {
	if !coloured || p == plain || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}

// shorten cuts a text to width, with an ellipsis where something is missing.
func shorten(text string, width int) string {
	if widthOf(text) <= width {
		return text
	}
	if width <= 0 {
		return ""
	}
	used := 0
	for i, r := range text {
		if used+widthOfRune(r) > width-1 {
			return text[:i] + ellipsis
		}
		used += widthOfRune(r)
	}
	return text
}

// widthOf is how many places a text takes on a terminal.
func widthOf(text string) int {
	width := 0
	for _, r := range text {
		width += widthOfRune(r)
	}
	return width
}

func widthOfRune(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul),
		r >= 0xFF01 && r <= 0xFF60, r >= 0x1F300 && r <= 0x1FAFF:
		return 2
	}
	return 1
}
