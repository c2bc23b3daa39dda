package config

import (
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"

	"fairlead.dev/internal/document"
)

// Policies is a YAML document that contains only the list of policies. For a list in the configuration file, it is the file with everything
// else blanked, so that lines and columns match the file and no secrets are included. It is empty if there are no policies. Config does not
// validate policies, because their validation needs the known models. Refuse formats the problems found later.
type Policies string

// policiesField is the key of the list of policies in the file.
const policiesField = "policies"

// policies stores the list without decoding it.
func (d *decoder) policies(n *yaml.Node, v reflect.Value, f field, path string) {
	if n.Kind != yaml.SequenceNode {
		d.wrongType(n, path, f.name, "a list of policies")
		return
	}
	if !d.noteOrigins(n, path, 0) {
		return
	}
	text, wrong, at := d.document(n)
	if wrong != nil {
		d.damaged[path] = true
		d.report(path, d.place(at), *wrong)
		return
	}
	v.SetString(text)
}

// deepest is the maximum nesting depth of policies. It also stops the recursion for recursive aliases.
const deepest = 10

// noteOrigins records the origin of each node. It returns false if nodes are nested too deeply.
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

// document returns a document that contains only the list, or a problem and the node it refers to. For an empty list the document
// is empty.
func (d *decoder) document(list *yaml.Node) (string, *fault, *yaml.Node) {
	if len(list.Content) == 0 {
		return "", nil, nil
	}
	if d.source.Kind != FromFile {
		name := &yaml.Node{Kind: yaml.ScalarNode, Value: policiesField}
		text, err := yaml.Marshal(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{name, list}})
		if err != nil {
			return "", &fault{code: Malformed, message: "invalid YAML: " + document.Clean(err.Error()), fix: "use a file"}, list
		}
		return string(text), nil, nil
	}
	i := document.Key(d.root, policiesField)
	if alias := document.ForeignAlias(d.root.Content[i+1]); alias != nil {
		return "", &fault{code: BadValue, message: "policies cannot use the alias *" + alias.Value + ", which is defined outside of policies", fix: "write the value explicitly, or define &" + alias.Value + " inside policies"}, alias
	}
	if text, ok := document.Section(d.text, d.root, i); ok {
		return text, nil, nil
	}
	return "", &fault{code: BadValue, message: "policies cannot be separated from the rest of the file", fix: "write policies: at the start of a line, followed by the list on the next lines"}, d.root.Content[i]
}

// RefuseRoutes converts problems of the list of routes to configuration problems. Their paths are relative to the list.
func (l *Loaded) RefuseRoutes(found []Problem) *Problems {
	late := &loader{path: l.Path}
	for _, p := range found {
		path := "routing.routes" + p.Path
		late.report(path, originOf(l.Origins, path), fault{code: p.Code, message: path + ": " + p.Message, suggestion: p.Suggestion, fix: p.Fix})
	}
	late.problems.sort()
	return &late.problems
}

// Refuse converts problems found in Policies to configuration problems with excerpts. The lines and columns of found refer to the
// document in Policies.
func (l *Loaded) Refuse(found []Problem) *Problems {
	origin := l.Origin(policiesField) // origin of the first line after the key
	lines := strings.Split(string(l.Config.Policies), "\n")
	report := &Problems{}
	for _, p := range found {
		p.Source = origin.Source
		switch {
		case origin.Kind != FromFile:
			p.Line, p.Column = 0, 0
		case p.Path == "": // the problem concerns the whole list
			p.Line, p.Column, p.Width = origin.Line, 0, 0
		case p.Line >= 1 && p.Line <= len(lines):
			p.excerpt, p.Column = document.Window(lines[p.Line-1], p.Column)
		}
		report.List = append(report.List, p)
	}
	if origin.Kind == FromFile {
		report.file = l.Path
	}
	report.sort()
	return report
}
