package config

import (
	"gopkg.in/yaml.v3"

	"fairlead.dev/internal/document"
)

// policies prints the list with one field per line.
func (p *printer) policies(text, name, path string, depth int) {
	root, wrong := document.Parse([]byte(text))
	if wrong != nil || root == nil || root.Kind != yaml.MappingNode || document.Key(root, policiesField) < 0 {
		return // unreachable, because Load has checked the document
	}
	p.add(depth, name+":", "")
	for i, policy := range document.Resolve(root.Content[document.Key(root, policiesField)+1]).Content {
		n, one := document.Resolve(policy), at(path, i)
		if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
			p.add(depth+1, "- "+document.Inline(n), originOf(p.origins, one).String())
			continue
		}
		lead := "- "
		for j := 0; j+1 < len(n.Content); j += 2 {
			key := n.Content[j]
			p.add(depth+1, lead+document.InlineKey(key)+": "+document.Inline(n.Content[j+1]), originOf(p.origins, join(one, key.Value)).String())
			lead = "  "
		}
	}
}
