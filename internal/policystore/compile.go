package policystore

import (
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"fairlead/internal/policy"
)

// setName is what the policies of a workspace are called in messages.
const setName = "workspace"

// choices are the effects by which a policy chooses. The others only restrict.
var choices = []string{"pin", "prefer", "objective", "baseline"}

// compile makes a stored version work in the world as it is. It was right when it was saved, but what it names may be gone
// since. The policies that are right stay as they are. Of the others what they choose is switched off; what they forbid
// stays, because whoever relies on it must not find it gone for a name elsewhere. One whose condition cannot be read is
// switched off whole.
func (v *view) compile(version Version) *space {
	s := &space{version: version}
	s.own, s.problems = policy.Parse(setName, []byte(version.Source), v.world)
	if len(s.problems) > 0 {
		s.own = v.salvage(version.Source, s.problems)
	}
	s.joined = policy.Join(v.instance, s.own)
	return s
}

// salvage returns what still works of a text with these problems; nil for nothing.
func (v *view) salvage(source string, problems []policy.Problem) *policy.Set {
	open := v.world
	open.AllowUnknown = true // what restricts may name what is gone
	var document yaml.Node
	if yaml.Unmarshal([]byte(source), &document) != nil {
		return nil
	}
	list := policiesOf(&document)
	if list == nil {
		return nil
	}
	for i := range places(problems) {
		if i < len(list.Content) {
			strike(list.Content[i], choices)
		}
	}
	set, problems := parseNode(&document, open)
	if len(problems) == 0 {
		return set
	}
	broken := places(problems)
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

func parseNode(document *yaml.Node, world policy.Inventory) (*policy.Set, []policy.Problem) {
	text, err := yaml.Marshal(document)
	if err != nil {
		return nil, []policy.Problem{{Message: err.Error()}}
	}
	return policy.Parse(setName, text, world)
}

// policiesOf finds the list of policies in a document.
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

// strike takes fields out of a mapping.
func strike(n *yaml.Node, names []string) {
	if n.Kind != yaml.MappingNode {
		return
	}
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !slices.Contains(names, n.Content[i].Value) {
			kept = append(kept, n.Content[i], n.Content[i+1])
		}
	}
	n.Content = kept
}

// places are the positions in the list of the policies that problems speak of.
func places(problems []policy.Problem) map[int]bool {
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
