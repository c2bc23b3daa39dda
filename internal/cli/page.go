package cli

import (
	"fmt"
	"strings"
)

// Page builds text output in sections.
type Page struct {
	strings.Builder
	Width    int
	Coloured bool
}

// Section starts a section with its title.
func (p *Page) Section(title string) { p.WriteString("\n" + Painted(title, Bold, p.Coloured) + "\n") }

// Paragraph writes text wrapped to the page width.
func (p *Page) Paragraph(text string, indent int) {
	for _, line := range Wrap(Clean(text), p.Width-indent) {
		p.WriteString(strings.Repeat(" ", indent) + line + "\n")
	}
}

// Field writes a name and its value, at least two columns apart. Wrapped lines of the value are aligned.
func (p *Page) Field(name, text string) {
	const usual = 14 // two more than the length of "capabilities", the longest common name
	room := max(usual, Width(name)+2)
	for i, line := range Wrap(Clean(text), p.Width-room-2) {
		if i > 0 {
			name = ""
		}
		fmt.Fprintf(p, "  %s%s%s\n", Painted(name, Faint, p.Coloured), strings.Repeat(" ", room-Width(name)), line)
	}
}

// Table prints an indented table.
func (p *Page) Table(t *Table) {
	t.indent = 2
	p.WriteString(strings.Join(t.Lines(p.Width, p.Coloured), "\n") + "\n")
}
