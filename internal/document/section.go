package document

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Section returns the document with everything blanked except the key-value pair whose key is root.Content[i]. Line and column numbers
// do not change. It returns false if the pair cannot be separated from the rest.
func Section(text string, root *yaml.Node, i int) (string, bool) {
	section := excise(text, root, i)
	for _, text := range []string{withoutTail(section), section} {
		if alone, wrong := Parse([]byte(text)); wrong == nil && alone != nil && len(alone.Content) == 2 && sameNode(alone.Content[1], root.Content[i+1]) {
			return text, true
		}
	}
	return "", false
}

// excise blanks everything except the key-value pair whose key is root.Content[i]. The braces of a flow mapping are kept.
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
	edit := func(n *yaml.Node, change func(before, after []rune) string) {
		if n.Line >= 1 && n.Line <= len(kept) {
			line := []rune(kept[n.Line-1])
			at := min(max(0, n.Column-1), len(line))
			kept[n.Line-1] = change(line[:at], line[at:])
		}
	}
	if next != nil {
		edit(next, func(before, _ []rune) string { return string(before) + "}" })
	}
	edit(key, func(before, after []rune) string { return strings.Repeat(" ", len(before)) + string(after) })
	edit(root, func(before, after []rune) string {
		blanks := strings.Repeat(" ", max(0, root.Column-1-len(before)))
		return string(before) + blanks + "{" + string(after[min(1, len(after)):])
	})
	return strings.Join(kept, "\n")
}

// withoutTail removes blank lines and comments at the end of the text. Such comments usually describe the next section.
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
