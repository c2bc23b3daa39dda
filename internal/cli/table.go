package cli

import (
	"strings"
	"unicode"
)

// Column describes a column of a table. When the table is wider than the terminal, columns are hidden until the table fits with
// soft columns at their minimum width. Columns with a higher value of Hide are hidden first.
type Column struct {
	Title string
	Right bool // whether the column is right-aligned, for numbers
	Soft  bool
	Hide  int // priority for hiding; 0 for a column that is never hidden
}

// narrow returns the minimum width of a soft column.
func (c Column) narrow() int { return max(MinSoftWidth, Width(c.Title)) }

// Table is an aligned table with column titles and without borders.
type Table struct {
	Columns   []Column
	Rows      [][]Cell
	indent    int
	MinWidths []int // minimum widths of the columns; hiddenColumn hides a column; nil for no minimum
}

// Cell is the text of a table cell and its style.
type Cell struct {
	Text  string
	Paint Paint
}

// Paint is a style as an ANSI code.
type Paint string

// Styles.
const (
	Plain  Paint = ""
	Bold   Paint = "1"
	Faint  Paint = "2"
	Red    Paint = "31"
	Green  Paint = "32"
	Yellow Paint = "33"
)

// Column widths.
const (
	ColumnGap    = 2 // number of spaces between columns
	MinSoftWidth = 6 // minimum width of a soft column, unless its title is wider
	ellipsis     = "…"

	hiddenColumn = -1 // width of a column that is not shown
)

// Row adds a row of plain cells.
func (t *Table) Row(texts ...string) {
	cells := make([]Cell, len(texts))
	for i, text := range texts {
		cells[i] = Cell{Text: text}
	}
	t.Add(cells...)
}

// Add appends a row of cells.
func (t *Table) Add(cells ...Cell) {
	for i := range cells {
		cells[i].Text = Clean(cells[i].Text)
	}
	t.Rows = append(t.Rows, cells)
}

// Lines returns the lines of the table, each at most width columns wide. A width of 0 means no limit.
func (t *Table) Lines(width int, coloured bool) []string {
	widths := t.Widths(width)
	titles := make([]Cell, len(t.Columns))
	for i, c := range t.Columns {
		titles[i] = Cell{c.Title, Faint}
	}
	lines := []string{t.line(titles, widths, width, coloured)}
	for _, row := range t.Rows {
		lines = append(lines, t.line(row, widths, width, coloured))
	}
	return lines
}

// Widths returns the column widths, with hiddenColumn for columns that do not fit. Soft columns are narrowed, widest first.
func (t *Table) Widths(width int) []int {
	widths := t.naturalWidths()
	for width > 0 && t.narrowest(widths) > width && t.hideOne(widths) {
	}
	total := t.total(widths)
	for width > 0 && total > width {
		widest := -1
		for i, c := range t.Columns {
			if c.Soft && widths[i] > c.narrow() && (widest < 0 || widths[i] > widths[widest]) {
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

// naturalWidths returns the widths at which no cell is truncated.
func (t *Table) naturalWidths() []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = Width(c.Title)
		if i < len(t.MinWidths) {
			if t.MinWidths[i] == hiddenColumn {
				widths[i] = hiddenColumn
				continue
			}
			widths[i] = max(widths[i], t.MinWidths[i])
		}
		for _, row := range t.Rows {
			runsOn := i == len(row)-1 && i < len(t.Columns)-1
			if i < len(row) && !runsOn {
				widths[i] = max(widths[i], Width(row[i].Text))
			}
		}
	}
	return widths
}

// total returns the width of a line.
func (t *Table) total(widths []int) int {
	total, shown := t.indent, 0
	for _, w := range widths {
		if w != hiddenColumn {
			total += w
			shown++
		}
	}
	return total + ColumnGap*max(0, shown-1)
}

// narrowest returns the width of a line with all soft columns at their minimum width.
func (t *Table) narrowest(widths []int) int {
	total := t.total(widths)
	for i, c := range t.Columns {
		if c.Soft && widths[i] > c.narrow() {
			total -= widths[i] - c.narrow()
		}
	}
	return total
}

// hideOne hides the visible column with the highest hiding priority. It returns false if no column can be hidden.
func (t *Table) hideOne(widths []int) bool {
	next := -1
	for i, c := range t.Columns {
		if widths[i] != hiddenColumn && c.Hide > 0 && (next < 0 || c.Hide > t.Columns[next].Hide) {
			next = i
		}
	}
	if next < 0 {
		return false
	}
	widths[next] = hiddenColumn
	return true
}

// line formats one row. The last cell of a short row extends over the missing columns.
func (t *Table) line(row []Cell, widths []int, width int, coloured bool) string {
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", t.indent))
	used := t.indent
	for i, c := range row {
		if widths[i] == hiddenColumn {
			continue
		}
		if used > t.indent {
			b.WriteString(strings.Repeat(" ", ColumnGap))
			used += ColumnGap
		}
		room, text := widths[i], c.Text
		last := i == len(row)-1
		if last && i < len(t.Columns)-1 {
			room = Width(text)
		}
		if width > 0 {
			room = min(room, max(0, width-used))
		}
		text = shorten(text, room)
		pad := strings.Repeat(" ", max(0, room-Width(text)))
		switch {
		case t.Columns[i].Right:
			b.WriteString(pad + Painted(text, c.Paint, coloured))
		case last:
			b.WriteString(Painted(text, c.Paint, coloured))
		default:
			b.WriteString(Painted(text, c.Paint, coloured) + pad)
		}
		used += room
		if width > 0 && used >= width {
			break
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// Painted adds the escape sequences of a style to text if coloured is true.
func Painted(text string, p Paint, coloured bool) string {
	if !coloured || p == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}

// shorten truncates text to width columns and adds an ellipsis.
func shorten(text string, width int) string {
	if Width(text) <= width {
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

// Width returns the number of terminal columns that text occupies.
func Width(text string) int {
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
