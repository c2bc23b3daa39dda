package config

import (
	"gopkg.in/yaml.v3"

	"fairlead/internal/document"
)

// policies prints the list with one field per line.
func (p *printer) policies(text, name, path string, depth int) {
	root, wrong := document.Parse([]byte(text))
	if wrong != nil || root == nil || root.Kind != yaml.MappingNode || document.Key(root, policiesField) < 0 {
		return // not possible after Load
	}
	p.add(depth, name+":", "")
	for i, policy := range document.Resolve(root.Content[document.Key(root, policiesField)+1]).Content {
		p.policy(document.Resolve(policy), at(path, i), depth+1)
	}
}

func (p *printer) policy(n *yaml.Node, path string, depth int) {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		p.add(depth, "- "+document.Inline(n), originOf(p.origins, path).String())
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		lead := "  "
		if i == 0 {
			lead = "- "
		}
		key := n.Content[i]
		p.add(depth, lead+document.InlineKey(key)+": "+document.Inline(n.Content[i+1]), originOf(p.origins, join(path, key.Value)).String())
	}
}
