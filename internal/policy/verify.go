package policy

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"fairlead.dev/internal/document"
	"fairlead.dev/internal/spelling"
)

// The checks of a verification.
const (
	CheckSchema = "schema" // the response matches the JSON schema of the request
	CheckTools  = "tools"  // tool calls name tools of the request and have valid arguments
	CheckCode   = "code"   // code blocks parse
	CheckHook   = "hook"   // the user's hook returns a sufficient score
)

// Checks lists the checks in the order in which they are applied.
func Checks() []string { return []string{CheckSchema, CheckTools, CheckCode, CheckHook} }

const (
	// DefaultThreshold is the minimum score that a hook must return for a response to pass.
	DefaultThreshold = 0.5
	maxHook          = 2000
)

// ResponseChecks checks a response before it is served. A response that fails is replaced with a response from another model.
type ResponseChecks struct {
	Checks    []string `json:"checks" yaml:"checks"`                           // names of the checks, in the order of the function Checks
	Hook      string   `json:"hook,omitempty" yaml:"hook,omitempty"`           // URL of the hook
	Threshold *float64 `json:"threshold,omitempty" yaml:"threshold,omitempty"` // minimum score from the hook; nil for DefaultThreshold
	Streams   *bool    `json:"streams,omitempty" yaml:"streams,omitempty"`     // whether streamed responses are checked; nil means true
}

// String describes the verification.
func (v *ResponseChecks) String() string {
	text := "verify " + strings.Join(v.Checks, ", ")
	if v.Streams != nil && !*v.Streams {
		text += " of responses that are not streamed"
	}
	return text
}

// node returns the verification as a YAML node: a list of checks if it has no other settings.
func (v *ResponseChecks) node() *yaml.Node {
	if v.Hook == "" && v.Threshold == nil && v.Streams == nil {
		return nameList(v.Checks)
	}
	m := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{plain("checks"), nameList(v.Checks)}}
	if v.Hook != "" {
		m.Content = append(m.Content, plain("hook"), scalar(v.Hook))
	}
	if v.Threshold != nil {
		m.Content = append(m.Content, plain("threshold"), plain(strconv.FormatFloat(*v.Threshold, 'f', -1, 64)))
	}
	if v.Streams != nil {
		m.Content = append(m.Content, plain("streams"), plain(strconv.FormatBool(*v.Streams)))
	}
	return m
}

// readVerify reads a list of checks, or a mapping with the list and other settings.
func (p *reader) readVerify(n *yaml.Node, path string, policy *Policy, r *rule) {
	r.has |= verifies
	before, v, resolved := len(p.problems), &ResponseChecks{}, document.Resolve(n)
	policy.Verify = v
	if resolved.Kind != yaml.MappingNode {
		v.Checks = p.checks(n, path)
	} else {
		p.pairs(n, path, func(key, value *yaml.Node) { p.readVerifyField(key, value, below(path, key.Value), v) })
	}
	r.verify = *v
	uses := slices.Contains(v.Checks, CheckHook)
	switch {
	case len(p.problems) > before:
	case len(v.Checks) == 0:
		p.report(n, MissingField, below(path, "checks"), "the verification has no checks", "add checks: [schema, tools]")
	case uses && v.Hook == "":
		p.report(n, MissingField, below(path, "hook"), "the check hook has no URL", "write verify: {checks: [hook], hook: https://checks.example.com/score}")
	case !uses && (v.Hook != "" || v.Threshold != nil):
		p.report(n, BadValue, path, "hook and threshold have no effect without the check hook", "add hook to checks, or remove them")
	}
}

func (p *reader) readVerifyField(key, value *yaml.Node, at string, v *ResponseChecks) {
	switch key.Value {
	case "checks":
		v.Checks = p.checks(value, at)
	case "hook":
		text, ok := p.text(value, at, maxHook)
		if !ok {
			return
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			p.report(value, BadValue, at, "the hook is not an http or https URL without credentials", "write a URL such as https://checks.example.com/score")
			return
		}
		v.Hook = text
	case "threshold":
		text, ok := p.text(value, at, maxEntry)
		if !ok {
			return
		}
		number, err := strconv.ParseFloat(text, 64)
		if err != nil || !(number >= 0 && number <= 1) { // the negated form also rejects NaN
			p.report(value, BadValue, at, document.Quote(text)+" is not a score", "write a number from 0 to 1")
			return
		}
		v.Threshold = &number
	case "streams":
		v.Streams = p.boolean(value, at)
	default:
		p.unknown(key, at, "verify", []string{"checks", "hook", "threshold", "streams"})
	}
}

// checks reads the names of checks and returns them in the order of Checks.
func (p *reader) checks(n *yaml.Node, path string) []string {
	named := p.list(n, path, func(one *yaml.Node, where, name string) string {
		if !slices.Contains(Checks(), name) {
			hint := document.DidYouMean(spelling.Closest(name, Checks()))
			if hint == "" {
				hint = "the checks are " + strings.Join(Checks(), ", ")
			}
			p.report(one, BadValue, where, "unknown check "+document.Quote(name), hint)
		}
		return name
	})
	return slices.DeleteFunc(Checks(), func(name string) bool { return !slices.Contains(named, name) })
}
