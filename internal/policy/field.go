package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"fairlead.dev/internal/document"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy/condition"
	"fairlead.dev/internal/spelling"
)

// field is a field of a policy with the function that parses it.
type field struct {
	name string
	read func(p *reader, n *yaml.Node, path string, policy *Policy, r *rule)
}

// fields lists the fields of a policy in the order in which Format writes them.
func fields() []field {
	return []field{
		{"name", (*reader).readName},
		{"description", func(p *reader, n *yaml.Node, path string, policy *Policy, _ *rule) {
			policy.Description, _ = p.text(n, path, maxDescription)
		}},
		{"enabled", func(p *reader, n *yaml.Node, path string, policy *Policy, _ *rule) {
			policy.Enabled = p.boolean(n, path)
		}},
		{"when", (*reader).readCondition},
		{"deny", (*reader).readDeny},
		{"pin", (*reader).readPin},
		{"allow", func(p *reader, n *yaml.Node, path string, policy *Policy, r *rule) {
			policy.Allow = p.selector(n, path, &r.allow)
			r.has |= allows
		}},
		{"exclude", func(p *reader, n *yaml.Node, path string, policy *Policy, r *rule) {
			policy.Exclude = p.selector(n, path, &r.exclude)
			r.has |= excludes
		}},
		{"prefer", func(p *reader, n *yaml.Node, path string, policy *Policy, r *rule) {
			policy.Prefer, r.prefer = p.models(n, path)
			r.has |= prefers
		}},
		{"objective", (*reader).readObjective},
		{"max_cost_usd", (*reader).readMaxCost},
		{"max_output_tokens", (*reader).readMaxOutput},
		{"max_escalation", (*reader).readMaxEscalation},
		{"session_budget", (*reader).readSessionBudget},
		{"baseline", (*reader).readBaseline},
		{"response_cache", (*reader).readResponseCache},
		{"cache_marks", func(p *reader, n *yaml.Node, path string, policy *Policy, r *rule) {
			policy.CacheMarks = p.off(n, path, "prompt-cache markers")
			r.has |= disablesMarks
		}},
		{"log_bodies", func(p *reader, n *yaml.Node, path string, policy *Policy, r *rule) {
			policy.LogBodies = p.off(n, path, "body logging")
			r.has |= disablesBodies
		}},
	}
}

func fieldNames() []string {
	var names []string
	for _, f := range fields() {
		names = append(names, f.name)
	}
	return names
}

// rule reads one policy.
func (p *reader) rule(n *yaml.Node, path string) (Policy, *rule) {
	policy, r := Policy{}, &rule{source: p.name}
	n = document.Resolve(n)
	p.policy = ""
	if name := nameNode(n); name != nil {
		p.policy = name.Value
	}
	before := len(p.problems)
	given := map[string]*yaml.Node{}
	p.pairs(n, path, func(key, value *yaml.Node) {
		for _, f := range fields() {
			if f.name == key.Value {
				given[key.Value] = key
				f.read(p, value, below(path, f.name), &policy, r)
				return
			}
		}
		p.unknown(key, below(path, key.Value), "a policy", fieldNames())
	})
	if n.Kind != yaml.MappingNode {
		return policy, r
	}
	if given["name"] == nil {
		p.report(n, MissingField, below(path, "name"), "the policy has no name", "add name: my-policy")
	}
	if r.has == 0 && len(p.problems) == before {
		p.report(n, NoEffect, path, "the policy has no effect", "add one of "+strings.Join(fieldNames()[4:], ", "))
	}
	if r.has&denies != 0 && r.has != denies {
		for _, name := range fieldNames()[4:] {
			if key := given[name]; key != nil && name != "deny" {
				p.report(key, NoEffect, below(path, name), name+" has no effect with deny, which rejects the request", "remove one of the two")
			}
		}
	}
	r.name = policy.Name
	r.allow.buildReasons(r.name)
	r.exclude.buildReasons(r.name)
	r.describe(&policy)
	return policy, r
}

func (p *reader) unknown(key *yaml.Node, path, owner string, known []string) {
	hint := document.DidYouMean(spelling.Closest(key.Value, known))
	if hint == "" {
		hint = "the fields of " + owner + " are " + strings.Join(known, ", ")
	}
	p.report(key, UnknownField, path, "unknown field "+document.Quote(key.Value), hint)
}

var wellNamed = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

func (p *reader) readName(n *yaml.Node, path string, policy *Policy, _ *rule) {
	text, ok := p.text(n, path, maxEntry)
	if !ok {
		return
	}
	if !wellNamed.MatchString(text) {
		hint := "use lower-case letters, digits, dots, dashes and underscores, at most 64"
		if better := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), " ", "-"); wellNamed.MatchString(better) {
			hint = document.DidYouMean(better)
		}
		p.report(n, BadValue, path, "invalid policy name "+document.Quote(text), hint)
	}
	policy.Name = text
}

// readCondition reads the CEL condition of a policy.
func (p *reader) readCondition(n *yaml.Node, path string, policy *Policy, r *rule) {
	text, ok := p.text(n, path, condition.MaxLength)
	if !ok {
		return
	}
	policy.When = text
	if p.language == nil {
		var err error
		if p.language, err = condition.NewLanguage(p.inventory.zone); err != nil {
			p.report(n, BadSyntax, path, err.Error(), "")
			return
		}
	}
	when, problems := p.language.Compile(text, p.inventory.AllowUnknown)
	r.when = when
	if len(problems) == 0 {
		return
	}
	positions := document.Positions(p.source, n)
	for _, one := range problems {
		at := positions[min(one.Offset, len(positions)-1)]
		p.reportAt(at, one.Width, Code(one.Code), path, one.Message, one.Hint)
	}
}

func (p *reader) readDeny(n *yaml.Node, path string, policy *Policy, r *rule) {
	r.has |= denies
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" {
		p.report(n, WrongType, path, "deny must be the message returned to the caller", `write deny: "Why the request is rejected."`)
		return
	}
	policy.Deny, _ = p.text(n, path, maxMessage)
	r.deny = policy.Deny
}

func (p *reader) readPin(n *yaml.Node, path string, policy *Policy, r *rule) {
	r.has |= pins
	name, ok := p.text(n, path, maxEntry)
	if !ok {
		return
	}
	policy.Pin = name
	if strings.HasSuffix(name, "*") {
		p.report(n, BadValue, path, "pin must be a single model or provider/model", "to allow several, use allow or prefer")
		return
	}
	if r.pin, ok = p.inventory.target(name); !ok || isAuto(name) {
		p.noSuchModel(n, path, name)
	}
}

func isAuto(name string) bool { return name == "auto" || strings.HasPrefix(name, "auto:") }

func (p *reader) noSuchModel(n *yaml.Node, path, name string) {
	if isAuto(name) {
		p.report(n, UnknownName, path, document.Quote(name)+" selects automatic routing and is not a model", "name a model")
		return
	}
	hint := nearest(name, p.inventory.Models, p.inventory.Targets)
	before, after, isTarget := strings.Cut(name, "/")
	if model, known := p.inventory.model(after); isTarget && known && slices.Contains(p.inventory.Providers, before) {
		var targets []string
		for _, t := range p.inventory.Targets {
			if strings.HasSuffix(t, "/"+model) && len(targets) < 5 {
				targets = append(targets, t)
			}
		}
		hint = ""
		if len(targets) > 0 {
			hint = "available: " + strings.Join(targets, ", ")
		}
		p.report(n, UnknownName, path, fmt.Sprintf("provider %s does not offer model %s", document.Quote(before), document.Quote(after)), hint)
		return
	}
	what := "unknown model "
	if strings.HasSuffix(name, "*") {
		what = "no model matches "
	}
	p.report(n, UnknownName, path, what+document.Quote(name), hint)
}

func (p *reader) readBaseline(n *yaml.Node, path string, policy *Policy, r *rule) {
	r.has |= compares
	name, ok := p.text(n, path, maxEntry)
	if !ok {
		return
	}
	policy.Baseline = name
	if _, model, found := strings.Cut(name, "/"); found && slices.Contains(p.inventory.Targets, name) {
		p.report(n, BadValue, path, "baseline must be a model without a provider", document.DidYouMean(model))
		return
	}
	if r.baseline, ok = p.inventory.model(name); !ok || isAuto(name) {
		p.noSuchModel(n, path, name)
	}
}

func (p *reader) readObjective(n *yaml.Node, path string, policy *Policy, r *rule) {
	r.has |= aims
	text, ok := p.text(n, path, maxEntry)
	if !ok {
		return
	}
	policy.Objective = text
	if slices.Contains(condition.Objectives(), text) {
		r.objective = Objective{Name: text}
		return
	}
	number, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		hint := document.DidYouMean(spelling.Closest(text, condition.Objectives()))
		if hint == "" {
			hint = "write cost, quality, speed, or a number from 0 (cheapest) to 1 (best)"
		}
		p.report(n, BadValue, path, "unknown objective "+document.Quote(text), hint)
	case !(number >= 0 && number <= 1): // the negated form also rejects NaN
		p.report(n, BadValue, path, "objective must be from 0 (cheapest) to 1 (best)", "")
	default:
		r.objective = Objective{Name: "number", Tradeoff: number}
	}
}

func (p *reader) readMaxCost(n *yaml.Node, path string, policy *Policy, r *rule) {
	r.has |= limitsCost
	text, ok := p.text(n, path, maxEntry)
	if !ok {
		return
	}
	amount, err := money.Parse(text)
	if err != nil || amount <= 0 {
		p.report(n, BadValue, path, document.Quote(text)+" is not a dollar amount above 0", "write a number such as 0.02, with at most nine decimals")
		return
	}
	policy.MaxCost, r.maxCost = amount, amount
}

func (p *reader) readMaxOutput(n *yaml.Node, path string, policy *Policy, r *rule) {
	r.has |= limitsOutput
	text, ok := p.text(n, path, maxEntry)
	if !ok {
		return
	}
	tokens, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
	if err != nil || tokens < 1 || tokens > maxOutput {
		p.report(n, BadValue, path, document.Quote(text)+" is not a number of tokens", fmt.Sprintf("write a whole number from 1 to %d", maxOutput))
		return
	}
	policy.MaxOutput, r.maxOutput = tokens, tokens
}

func (p *reader) readMaxEscalation(n *yaml.Node, path string, policy *Policy, r *rule) {
	r.has |= limitsEscalation
	text, ok := p.text(n, path, maxEntry)
	if !ok {
		return
	}
	steps, err := strconv.ParseInt(text, 10, 64)
	if err != nil || steps < 0 || steps > maxEscalation {
		p.report(n, BadValue, path, document.Quote(text)+" is not a number of escalation steps", fmt.Sprintf("write a whole number from 0 (off) to %d", maxEscalation))
		return
	}
	policy.MaxEscalation, r.maxEscalation = &steps, steps
}

func (p *reader) readSessionBudget(n *yaml.Node, path string, policy *Policy, r *rule) {
	r.has |= limitsSession
	before, b := len(p.problems), &SessionLimit{}
	p.pairs(n, path, func(key, value *yaml.Node) {
		at := below(path, key.Value)
		switch key.Value {
		case "amount_usd":
			var limit rule
			var amount Policy
			p.readMaxCost(value, at, &amount, &limit)
			b.Amount = amount.MaxCost
		case "warn_percent":
			text, ok := p.text(value, at, maxEntry)
			percent, err := strconv.ParseInt(text, 10, 64)
			if ok && (err != nil || percent < 1 || percent > 99) {
				p.report(value, BadValue, at, document.Quote(text)+" is not a percentage", "write a whole number from 1 to 99")
			}
			b.WarnPercent = percent
		case "downgrade":
			if on := p.boolean(value, at); on != nil {
				b.Downgrade = *on
			}
		default:
			p.unknown(key, at, "a session budget", []string{"amount_usd", "warn_percent", "downgrade"})
		}
	})
	if len(p.problems) == before && b.Amount == 0 {
		p.report(n, MissingField, below(path, "amount_usd"), "the session budget has no amount", "add amount_usd: 5")
	}
	policy.SessionBudget, r.sessionBudget = b, *b
}

func (p *reader) readResponseCache(n *yaml.Node, path string, policy *Policy, r *rule) {
	text, ok := p.text(n, path, maxEntry)
	if !ok {
		r.has |= disablesCache
		return
	}
	age, err := ParseCacheAge(strings.ToLower(text))
	if err != nil {
		p.report(n, BadValue, path, document.Quote(text)+" is "+err.Error(), "write the maximum age of a cached response, such as 10m or 24h, or off")
	}
	policy.ResponseCache, r.cacheAge = &age, age
	if age == 0 {
		r.has |= disablesCache
	} else {
		r.has |= caches
	}
}

// off reads a field that can only be false, because a policy can disable the feature but not enable it.
func (p *reader) off(n *yaml.Node, path, feature string) *bool {
	value := p.boolean(n, path)
	if value != nil && *value {
		p.report(n, BadValue, path, "a policy can only disable "+feature, "write false, or remove the field")
	}
	return value
}
