package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Parse parses a policy document. It returns the set, or all problems in document order. name identifies the owner of
// the policies, such as "instance" or "workspace"; hits carry it.
func Parse(name string, source []byte, world Inventory) (*Set, []Problem) {
	if len(source) > MaxBytes {
		return nil, []Problem{{Line: 1, Column: 1, Width: 1, Code: TooLarge, Message: fmt.Sprintf("the document has %d bytes; at most %d are allowed", len(source), MaxBytes)}}
	}
	document, problem := read(source)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	p := newReader(name, source, world)
	if document == nil {
		return p.set(nil)
	}
	var list *yaml.Node
	p.pairs(document.Content[0], "", func(key, value *yaml.Node) {
		if key.Value == "policies" {
			list = value
			return
		}
		p.unknown(key, key.Value, "the document", []string{"policies"})
	})
	return p.set(list)
}

// read returns the root of the document, or nil for an empty one.
func read(source []byte) (*yaml.Node, *Problem) {
	decoder := yaml.NewDecoder(bytes.NewReader(source))
	document, rest := new(yaml.Node), new(yaml.Node)
	err := decoder.Decode(document)
	if errors.Is(err, io.EOF) {
		return nil, nil //nolint:nilnil // an empty document is valid
	}
	if err == nil {
		switch err := decoder.Decode(rest); {
		case err == nil:
			return nil, &Problem{Line: rest.Line, Column: max(1, rest.Column), Width: 3, Code: Malformed, Message: "there is more than one document", Hint: "write one list of policies"}
		case !errors.Is(err, io.EOF):
			return nil, malformed(err)
		}
		if document.Kind != yaml.DocumentNode || len(document.Content) == 0 || isNull(document.Content[0]) {
			return nil, nil //nolint:nilnil // only comments
		}
		return document, nil
	}
	return nil, malformed(err)
}

var errorLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?(.*)`)

func malformed(err error) *Problem {
	m := errorLine.FindStringSubmatch(clean(err.Error()))
	line, _ := strconv.Atoi(m[1])
	return &Problem{Line: max(1, line), Column: 1, Width: 1, Code: Malformed, Message: "not YAML: " + m[2]}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// reader reads a list of policies and collects its problems.
type reader struct {
	name     string
	source   []byte
	layout   *layout
	world    Inventory
	language *language // created for the first condition
	zones    map[string]*time.Location
	policy   string // policy being read
	cost     uint64 // estimated maximum of the conditions so far
	problems []Problem
}

func newReader(name string, source []byte, world Inventory) *reader {
	return &reader{name: name, source: source, layout: newLayout(source), world: world, zones: map[string]*time.Location{}}
}

// set reads the list; a nil list is empty.
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
		return nil, inOrder(p.problems)
	}
	s := newSet(p.name, rules, p.zones)
	s.source, s.policies, s.version = bytes.Clone(p.source), policies, versionOf(policies)
	return s, nil
}

// addCost adds the cost of a policy to that of the document, and reports the policy that exceeds the limit.
func (p *reader) addCost(n *yaml.Node, i int, r *rule) {
	before := p.cost
	if p.cost += min(r.cost, maxWork); before > maxDocumentWork || p.cost <= maxDocumentWork || p.world.AllowUnknown {
		return
	}
	if name := nameNode(resolveAlias(n)); name != nil {
		n = name
	}
	p.report(n, TooCostly, fmt.Sprintf("policies[%d].when", i),
		fmt.Sprintf("the conditions of all policies up to this one could take %d steps; at most %d are allowed for the whole document", p.cost, maxDocumentWork),
		"simplify conditions that iterate over metadata or tags, or use matches and contains")
}

// elements returns the policies that can be read, and reports duplicate names.
func (p *reader) elements(list *yaml.Node) []*yaml.Node {
	if list == nil || isNull(list) {
		return nil
	}
	list = resolveAlias(list)
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
		name := nameNode(resolveAlias(n))
		if name == nil || name.Value == "" {
			continue
		}
		if line, twice := seen[name.Value]; twice {
			p.policy = name.Value
			p.report(name, Repeated, fmt.Sprintf("policies[%d].name", i), fmt.Sprintf("duplicate policy name %s, first used on line %d", quote(name.Value), line), "give each policy a unique name")
			continue
		}
		seen[name.Value] = name.Line
	}
	return list.Content
}

// nameNode returns the name of a policy, or nil.
func nameNode(n *yaml.Node) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if value := resolveAlias(n.Content[i+1]); n.Content[i].Value == "name" && value.Kind == yaml.ScalarNode {
			return value
		}
	}
	return nil
}

// resolveAlias returns the node that an alias refers to.
func resolveAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// pairs calls each for every field of a mapping, once per name.
func (p *reader) pairs(n *yaml.Node, path string, each func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		what := "the document"
		if path != "" {
			what = path[strings.LastIndexByte(path, '.')+1:]
		}
		p.report(n, WrongType, path, what+" must have fields, such as "+exampleFor(path), "")
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], resolveAlias(n.Content[i+1])
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
			p.report(key, WrongType, path, "a field's name must be plain text", "merge keys are not supported")
			continue
		}
		if line, twice := seen[key.Value]; twice {
			p.report(key, Repeated, below(path, key.Value), fmt.Sprintf("the field %s is already on line %d", quote(key.Value), line), "keep one of the two")
			continue
		}
		seen[key.Value] = key.Line
		each(key, value)
	}
}

func exampleFor(path string) string {
	switch {
	case path == "":
		return "policies: [...]"
	case strings.HasSuffix(path, "]"):
		return "name: my-policy"
	}
	return "models: [...]"
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
	p.reportAt(position{n.Line, n.Column}, width, code, path, message, hint)
}

func (p *reader) reportAt(at position, width int, code Code, path, message, hint string) {
	p.problems = append(p.problems, Problem{
		Line: at.line, Column: at.column, Width: width, Path: path, Policy: shorten(p.policy), Code: code, Message: message, Hint: hint,
	})
}
