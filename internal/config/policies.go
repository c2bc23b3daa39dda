package config

import (
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Policies is the list of policies as a YAML document of its own: the text of the file with everything else blanked, so
// that its lines and columns are those of the file, and it holds none of the file's secrets. It is empty without a
// list. What the policies say is checked where models are known: Refuse takes what is found wrong there.
type Policies string

// policiesField is the name of the list.
const policiesField = "policies"

// samePolicies reports whether two documents differ at most in the lines that stood before and after them.
func samePolicies(a, b string) bool { return strings.Trim(a, "\n") == strings.Trim(b, "\n") }

// policies keeps the list as it is written.
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

// deepest is how far lists and sections of policies may lie within each other; it ends aliases of what they stand in.
const deepest = 10

// noteOrigins remembers where each part of the list stands, and reports whether there is an end to them.
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
		step = 2 // keys and values take turns
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

// document makes a document of the list alone, or says what is wrong at which node. Of an empty list there is none.
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

// keyOf is the position of a key among the content of a mapping that has it.
func keyOf(mapping *yaml.Node, name string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return i
		}
	}
	return -1
}

// foreignAlias returns the first alias below n of something that is not below n.
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

// excise blanks everything but the pair at position i of the root. Of a root in braces these stay.
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

// before is what stands on a line before a column.
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

// blank puts spaces before a column.
func blank(lines []string, line, column int) {
	if line < 1 || line > len(lines) {
		return
	}
	head := before(lines, line, column)
	replaceLine(lines, line, strings.Repeat(" ", len([]rune(head)))+lines[line-1][len(head):])
}

// brace opens the mapping where it was opened.
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

// withoutTail cuts the comments behind the list: they are mostly about what comes next.
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

// sameNode reports whether two nodes say the same at the same place.
func sameNode(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || a.ShortTag() != b.ShortTag() || a.Line != b.Line || a.Column != b.Column {
		return false
	}
	return slices.EqualFunc(a.Content, b.Content, sameNode)
}

// Refuse makes a report of what others found wrong with the policies, each problem with the line it is about. Problems
// are at lines and columns of the document that Policies is.
func (l *Loaded) Refuse(found []Problem) *Problems {
	origin := l.Origin(policiesField) // of its first line, behind the name
	lines := strings.Split(string(l.Config.Policies), "\n")
	report := &Problems{}
	for _, p := range found {
		p.Source = origin.Source
		switch {
		case origin.Kind != FromFile:
			p.Line, p.Column = 0, 0
		case p.Path == "": // about all of them
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
