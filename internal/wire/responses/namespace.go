package responses

import (
	"bytes"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// joinNamespace returns the name of a tool for formats that have no namespaces.
func joinNamespace(namespace, name string) string {
	if namespace == "" || strings.HasSuffix(namespace, "__") {
		return namespace + name
	}
	return namespace + "__" + name
}

// namespacedTool is the name of a tool in the Responses format, which may group tools in namespaces.
type namespacedTool struct{ namespace, name string }

// namespacedTools returns the tools of a request that are in a namespace. The keys are the names that joinNamespace returns.
func namespacedTools(p *llm.Payload) map[string]namespacedTool {
	var tools map[string]namespacedTool
	for _, f := range p.Fields {
		raw := p.Body[f.Value:f.End]
		if f.Name != "tools" || !bytes.Contains(raw, []byte(`"namespace"`)) {
			continue
		}
		tools = map[string]namespacedTool{}
		rawjson.Parse(raw).ForEach(func(_, group rawjson.Value) bool {
			if group.Get("type").String() == "namespace" {
				namespace := group.Get("name").String()
				group.Get("tools").ForEach(func(_, tool rawjson.Value) bool {
					name := tool.Get("name").String()
					tools[joinNamespace(namespace, name)] = namespacedTool{namespace, name}
					return true
				})
			}
			return true
		})
	}
	return tools
}
