package policy

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"fairlead.dev/internal/document"
	"fairlead.dev/internal/policy/condition"
)

// Parse parses a policy document. It returns the set, or all problems in document order. name identifies the owner of the
// policies, such as "instance" or "workspace". It is included in hits.
func Parse(name string, source []byte, inventory Inventory) (*Set, []Problem) {
	if len(source) > MaxBytes {
		return nil, []Problem{{Line: 1, Column: 1, Width: 1, Code: TooLarge, Message: fmt.Sprintf("the document has %d bytes; at most %d are allowed", len(source), MaxBytes)}}
	}
	root, wrong := document.Parse(source)
	if wrong != nil {
		p := Problem{Line: max(1, wrong.Line), Column: max(1, wrong.Column), Width: 1, Code: Malformed, Message: "not YAML: " + wrong.Message}
		if wrong.Multiple {
			p.Width, p.Message, p.Hint = 3, "there is more than one document", "write one list of policies"
		}
		return nil, []Problem{p}
	}
	p := &reader{name: name, source: source, inventory: inventory}
	if root == nil || document.IsNull(root) {
		return p.set(nil)
	}
	var list *yaml.Node
	p.pairs(root, "", func(key, value *yaml.Node) {
		if key.Value == "policies" {
			list = value
			return
		}
		p.unknown(key, key.Value, "the document", []string{"policies"})
	})
	return p.set(list)
}

// reader parses a list of policies and collects problems.
type reader struct {
	name      string
	source    []byte
	inventory Inventory
	language  *condition.Language // condition language, created for the first condition
	policy    string              // name of the policy being parsed
	cost      uint64              // estimated maximum cost of all conditions so far
	problems  []Problem
}

// set parses the list. A nil list counts as empty.
func (p *reader) set(list *yaml.Node) (*Set, []Problem) {
	var policies []Policy
	var rules []*rule
	for i, n := range p.elements(list) {
		policy, r := p.rule(n, fmt.Sprintf("policies[%d]", i))
		policies = append(policies, policy)
		if policy.Active() {
			rules = append(rules, r)
			p.addCost(n, i, r)
		}
	}
	if len(p.problems) > 0 {
		slices.SortStableFunc(p.problems, func(a, b Problem) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		return nil, p.problems
	}
	var zones map[string]*time.Location
	if p.language != nil {
		zones = p.language.Zones()
	}
	s := newSet(p.name, rules, zones)
	s.source, s.policies = bytes.Clone(p.source), policies
	if len(policies) > 0 {
		const length = 12
		sum := sha256.Sum256(Format(policies))
		s.version = hex.EncodeToString(sum[:])[:length]
	}
	return s, nil
}

// addCost adds the cost of a policy to the total. It reports a problem at the policy whose cost makes the total exceed the limit.
func (p *reader) addCost(n *yaml.Node, i int, r *rule) {
	if r.when == nil {
		return
	}
	before := p.cost
	if p.cost += min(r.when.Cost(), condition.MaxCost); before > condition.MaxTotalCost || p.cost <= condition.MaxTotalCost || p.inventory.AllowUnknown {
		return
	}
	if name := nameNode(document.Resolve(n)); name != nil {
		n = name
	}
	p.report(n, TooCostly, fmt.Sprintf("policies[%d].when", i),
		fmt.Sprintf("the conditions of all policies up to this one could take %d steps; at most %d are allowed for the whole document", p.cost, condition.MaxTotalCost),
		"simplify conditions that iterate over metadata or tags, or use matches and contains")
}

// elements returns the policies that can be parsed. It reports duplicate names.
func (p *reader) elements(list *yaml.Node) []*yaml.Node {
	if list == nil || document.IsNull(list) {
		return nil
	}
	list = document.Resolve(list)
	if list.Kind != yaml.SequenceNode {
		p.report(list, WrongType, "policies", "policies must be a list", "start each policy with a dash: - name: …")
		return nil
	}
	if len(list.Content) > MaxPolicies {
		p.report(list.Content[MaxPolicies], TooLarge, fmt.Sprintf("policies[%d]", MaxPolicies), fmt.Sprintf("there are %d policies; at most %d are allowed", len(list.Content), MaxPolicies), "")
		return nil
	}
	seen := map[string]int{}
	for i, n := range list.Content {
		name := nameNode(document.Resolve(n))
		if name == nil || name.Value == "" {
			continue
		}
		if line, twice := seen[name.Value]; twice {
			p.policy = name.Value
			p.report(name, Repeated, fmt.Sprintf("policies[%d].name", i), fmt.Sprintf("duplicate policy name %s, first used on line %d", document.Quote(name.Value), line), "give each policy a unique name")
			continue
		}
		seen[name.Value] = name.Line
	}
	return list.Content
}

// nameNode returns the node of a policy's name, or nil.
func nameNode(n *yaml.Node) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if value := document.Resolve(n.Content[i+1]); n.Content[i].Value == "name" && value.Kind == yaml.ScalarNode {
			return value
		}
	}
	return nil
}

// pairs calls a function for every field of a mapping. It reports duplicate fields and skips them.
func (p *reader) pairs(n *yaml.Node, path string, each func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		what, example := "the document", "policies: [...]"
		if path != "" {
			what, example = path[strings.LastIndexByte(path, '.')+1:], "models: [...]"
		}
		if strings.HasSuffix(path, "]") {
			example = "name: my-policy"
		}
		p.report(n, WrongType, path, what+" must have fields, such as "+example, "")
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], document.Resolve(n.Content[i+1])
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
			p.report(key, WrongType, path, "a field's name must be plain text", "merge keys are not supported")
			continue
		}
		if line, twice := seen[key.Value]; twice {
			p.report(key, Repeated, below(path, key.Value), fmt.Sprintf("the field %s is already on line %d", document.Quote(key.Value), line), "keep one of the two")
			continue
		}
		seen[key.Value] = key.Line
		each(key, value)
	}
}

func below(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

// report adds a problem at a node.
func (p *reader) report(n *yaml.Node, code Code, path, message, hint string) {
	width := 1
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		width = max(1, len([]rune(n.Value)))
		if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
			width += 2
		}
	}
	p.reportAt(document.Position{Line: n.Line, Column: n.Column}, width, code, path, message, hint)
}

func (p *reader) reportAt(at document.Position, width int, code Code, path, message, hint string) {
	p.problems = append(p.problems, Problem{
		Line: at.Line, Column: at.Column, Width: width, Path: path, Policy: document.Shorten(p.policy), Code: code, Message: message, Hint: hint,
	})
}
