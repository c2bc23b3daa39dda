package config

import (
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Policies is the list of policies as a YAML document: the content of the file with everything else blanked, so that lines
// and columns match the file and it contains no secrets. It is empty without a list. Policies are validated where models are
// known; Refuse reports their problems.
type Policies string

// policiesField is the key of the list.
const policiesField = "policies"

// samePolicies reports whether two documents are equal apart from leading and trailing newlines.
func samePolicies(a, b string) bool { return strings.Trim(a, "\n") == strings.Trim(b, "\n") }

// policies stores the list without decoding it.
func (d *decoder) policies(n *yaml.Node, v reflect.Value, f field, path string) {
	if n.Kind != yaml.SequenceNode {
		d.wrongType(n, path, f.name, "a list of policies")
		return
	}
	if !d.noteOrigins(n, path, 0) {
		return
	}
	document, wrong, at := d.document(n)
	if wrong != nil {
		d.damaged[path] = true
		d.report(path, d.place(at), *wrong)
		return
	}
	v.SetString(document)
}

// deepest is the maximum nesting depth of policies. It stops recursive aliases.
const deepest = 10

// noteOrigins records the origin of each node. It returns false for nodes that are nested too deeply.
func (d *decoder) noteOrigins(n *yaml.Node, path string, depth int) bool {
	if !d.count(n, path) {
		return false
	}
	if depth > deepest {
		d.report(path, d.place(n), fault{code: TooLarge, message: "policies are nested too deeply", fix: "use only lists of names in the fields of a policy"})
		return false
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	d.origins[path] = d.place(n)
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2 // keys and values alternate
	}
	for i := step - 1; i < len(n.Content); i += step {
		below := at(path, i)
		if step == 2 {
			below = join(path, n.Content[i-1].Value)
		}
		if !d.noteOrigins(n.Content[i], below, depth+1) {
			return false
		}
	}
	return true
}

// document returns a document with only the list, or a problem and its node. An empty list has no document.
func (d *decoder) document(list *yaml.Node) (string, *fault, *yaml.Node) {
	if len(list.Content) == 0 {
		return "", nil, nil
	}
	if d.source.Kind != FromFile {
		name := &yaml.Node{Kind: yaml.ScalarNode, Value: policiesField}
		text, err := yaml.Marshal(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{name, list}})
		if err != nil {
			return "", &fault{code: Malformed, message: "invalid YAML: " + clean(err.Error()), fix: "use a file"}, list
		}
		return string(text), nil, nil
	}
	i := keyOf(d.root, policiesField)
	if alias := foreignAlias(d.root.Content[i+1]); alias != nil {
		return "", &fault{code: BadValue, message: "policies cannot use the alias *" + alias.Value + ", which is defined outside of policies", fix: "write the value explicitly, or define &" + alias.Value + " inside policies"}, alias
	}
	for _, text := range []string{withoutTail(excise(d.text, d.root, i)), excise(d.text, d.root, i)} {
		if root, wrong, _ := parse([]byte(text)); wrong == nil && root != nil && len(root.Content) == 2 && sameNode(root.Content[1], d.root.Content[i+1]) {
			return text, nil, nil
		}
	}
	return "", &fault{code: BadValue, message: "policies cannot be separated from the rest of the file", fix: "write policies: at the start of a line, followed by the list on the next lines"}, d.root.Content[i]
}

// keyOf returns the index of a key in a mapping, or -1.
func keyOf(mapping *yaml.Node, name string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return i
		}
	}
	return -1
}

// foreignAlias returns the first alias in n whose anchor is outside of n.
func foreignAlias(n *yaml.Node) *yaml.Node {
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

// before returns the part of a line before a column.
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

// blank replaces the characters before a column with spaces.
func blank(lines []string, line, column int) {
	if line < 1 || line > len(lines) {
		return
	}
	head := before(lines, line, column)
	replaceLine(lines, line, strings.Repeat(" ", len([]rune(head)))+lines[line-1][len(head):])
}

// brace writes the opening brace at its position.
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

// Refuse converts problems that were found in Policies to a report with excerpts. Their lines and columns refer to the
// document in Policies.
func (l *Loaded) Refuse(found []Problem) *Problems {
	origin := l.Origin(policiesField) // of the first line after the key
	lines := strings.Split(string(l.Config.Policies), "\n")
	report := &Problems{}
	for _, p := range found {
		p.Source = origin.Source
		switch {
		case origin.Kind != FromFile:
			p.Line, p.Column = 0, 0
		case p.Path == "": // a problem of the whole list
			p.Line, p.Column, p.Width = origin.Line, 0, 0
		case p.Line >= 1 && p.Line <= len(lines):
			p.excerpt, p.Column = window(clean(lines[p.Line-1]), p.Column)
		}
		report.List = append(report.List, p)
	}
	if origin.Kind == FromFile {
		report.file = l.Path
	}
	report.sort()
	return report
}
