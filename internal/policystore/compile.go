package policystore

import (
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"fairlead.dev/internal/policy"
)

// setName is the name of workspace policies in messages.
const setName = "workspace"

// compile compiles a saved version. It was valid when it was saved, but may refer to names that no longer exist. Policies with
// such names keep their restrictions, so that removing a model cannot disable a denial; their other effects are dropped. A policy
// with an invalid condition is disabled.
func (v *view) compile(version Version) *workspace {
	w := &workspace{version: version}
	w.own, w.problems = policy.Parse(setName, []byte(version.Source), v.inventory)
	if len(w.problems) > 0 {
		w.own = v.compileRestrictions(version.Source, w.problems)
	}
	w.joined = policy.Join(v.instance, w.own)
	return w
}

// compileRestrictions compiles a document with problems. It keeps the valid policies and the restrictions of the others. It
// returns nil if no policy can be used.
func (v *view) compileRestrictions(source string, problems []policy.Problem) *policy.Set {
	open := v.inventory
	open.AllowUnknown = true // restrictions may refer to names that no longer exist
	var document yaml.Node
	if yaml.Unmarshal([]byte(source), &document) != nil {
		return nil
	}
	list := policiesOf(&document)
	if list == nil {
		return nil
	}
	for i := range policyIndexes(problems) {
		if i >= len(list.Content) || list.Content[i].Kind != yaml.MappingNode {
			continue
		}
		var kept []*yaml.Node
		for fields := range slices.Chunk(list.Content[i].Content, 2) {
			if !slices.Contains([]string{"pin", "prefer", "objective", "baseline"}, fields[0].Value) {
				kept = append(kept, fields...)
			}
		}
		list.Content[i].Content = kept
	}
	set, problems := parseNode(&document, open)
	if len(problems) == 0 {
		return set
	}
	broken := policyIndexes(problems)
	var kept []*yaml.Node
	for i, item := range list.Content {
		if !broken[i] {
			kept = append(kept, item)
		}
	}
	list.Content = kept
	if set, problems = parseNode(&document, open); len(problems) > 0 {
		return nil
	}
	return set
}

func parseNode(document *yaml.Node, inventory policy.Inventory) (*policy.Set, []policy.Problem) {
	text, err := yaml.Marshal(document)
	if err != nil {
		return nil, []policy.Problem{{Message: err.Error()}}
	}
	return policy.Parse(setName, text, inventory)
}

// policiesOf returns the list of policies in a document, or nil if there is none.
func policiesOf(document *yaml.Node) *yaml.Node {
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil
	}
	fields := document.Content[0].Content
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i].Value == "policies" && fields[i+1].Kind == yaml.SequenceNode {
			return fields[i+1]
		}
	}
	return nil
}

// policyIndexes returns the indexes of the policies that have problems.
func policyIndexes(problems []policy.Problem) map[int]bool {
	found := map[int]bool{}
	for _, p := range problems {
		rest, ok := strings.CutPrefix(p.Path, "policies[")
		number, _, closed := strings.Cut(rest, "]")
		if i, err := strconv.Atoi(number); ok && closed && err == nil {
			found[i] = true
		}
	}
	return found
}
