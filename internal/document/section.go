package document

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Section returns the document with everything blanked except the pair at index i of the root. Lines and columns still match the
// document. It returns false if the pair cannot be separated from the rest.
func Section(text string, root *yaml.Node, i int) (string, bool) {
	section := excise(text, root, i)
	for _, text := range []string{withoutTail(section), section} {
		if alone, wrong := Parse([]byte(text)); wrong == nil && alone != nil && len(alone.Content) == 2 && sameNode(alone.Content[1], root.Content[i+1]) {
			return text, true
		}
	}
	return "", false
}

// excise blanks everything except the pair at index i of the root. The braces of a flow mapping are kept.
func excise(text string, root *yaml.Node, i int) string {
	lines := strings.Split(text, "\n")
	key, flow := root.Content[i], root.Style&yaml.FlowStyle != 0
	first, last := key.Line-1, len(lines)-1
	var next *yaml.Node
	if i+2 < len(root.Content) {
		next = root.Content[i+2]
		last = next.Line - 2
		if flow {
			last++
		}
	}
	kept := make([]string, len(lines))
	for n := first; n >= 0 && n <= last && n < len(lines); n++ {
		kept[n] = lines[n]
	}
	if !flow {
		return strings.Join(kept, "\n")
	}
	if next != nil {
		replaceLine(kept, next.Line, before(kept, next.Line, next.Column)+"}")
	}
	blank(kept, key.Line, key.Column)
	brace(kept, root.Line, root.Column)
	return strings.Join(kept, "\n")
}

// before returns the part of a line that precedes a column.
func before(lines []string, line, column int) string {
	if line < 1 || line > len(lines) {
		return ""
	}
	runes := []rune(lines[line-1])
	return string(runes[:min(max(0, column-1), len(runes))])
}

func replaceLine(lines []string, line int, text string) {
	if line >= 1 && line <= len(lines) {
		lines[line-1] = text
	}
}

// blank replaces the characters that precede a column with spaces.
func blank(lines []string, line, column int) {
	if line < 1 || line > len(lines) {
		return
	}
	head := before(lines, line, column)
	replaceLine(lines, line, strings.Repeat(" ", len([]rune(head)))+lines[line-1][len(head):])
}

// brace writes an opening brace at the position.
func brace(lines []string, line, column int) {
	if line < 1 || line > len(lines) {
		return
	}
	runes := []rune(lines[line-1])
	for len(runes) < column {
		runes = append(runes, ' ')
	}
	runes[max(0, column-1)] = '{'
	replaceLine(lines, line, string(runes))
}

// withoutTail removes the comments after the list, which usually describe the next section.
func withoutTail(text string) string {
	lines := strings.Split(text, "\n")
	end := len(lines)
	for end > 0 {
		if line := strings.TrimSpace(lines[end-1]); line != "" && line[0] != '#' {
			break
		}
		end--
	}
	return strings.Join(lines[:end], "\n") + "\n"
}

// sameNode reports whether two nodes have the same content and position.
func sameNode(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || a.ShortTag() != b.ShortTag() || a.Line != b.Line || a.Column != b.Column {
		return false
	}
	return slices.EqualFunc(a.Content, b.Content, sameNode)
}

// ForeignAlias returns the first alias in n whose anchor is outside of n.
func ForeignAlias(n *yaml.Node) *yaml.Node {
	var inside, aliases []*yaml.Node
	var walk func(*yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.AliasNode {
			aliases = append(aliases, n)
		} else if n.Anchor != "" {
			inside = append(inside, n)
		}
		for _, one := range n.Content {
			walk(one)
		}
	}
	walk(n)
	for _, alias := range aliases {
		if !slices.Contains(inside, alias.Alias) {
			return alias
		}
	}
	return nil
}
