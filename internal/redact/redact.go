// Package redact implements the rules that remove sensitive data from text before it is stored: e-mail addresses, card numbers, keys and
// custom patterns of a workspace. It also masks the gateway's provider credentials in responses. It performs no I/O.
//
// A match is replaced with a mark that names the rule, such as [redacted: email]. In a JSON document, only the content of string values
// changes, so the document stays valid and keeps its members. Every built-in rule takes time linear in the length of the text. Custom
// patterns can take longer and stop at the deadline of the Pass.
package redact

import (
	"fmt"
	"regexp"
	"slices"
)

// Rules selects the data to remove from text.
type Rules struct {
	Builtin []string `json:"builtin"` // names of built-in rules
	Custom  []Custom `json:"custom"`
}

// Custom is a user-defined rule. It removes the matches of its pattern, in RE2 syntax.
type Custom struct {
	Name    string `json:"name"`
	Pattern string `json:"pattern"`
}

// Empty reports whether the set of rules is empty.
func (r Rules) Empty() bool { return len(r.Builtin) == 0 && len(r.Custom) == 0 }

// rule finds ranges of text. The ranges may overlap.
type rule struct {
	name string
	find finder
}

// finder calls found for each match. A slow finder calls expired regularly and stops when expired returns true.
type finder func(text string, expired func() bool, found func(start, end int))

// Redactor applies rules. It is immutable and safe for concurrent use.
type Redactor struct{ rules []rule }

// New returns a redactor for the rules. The error reports the first problem found by Check.
func New(r Rules) (*Redactor, error) {
	if problems := r.Check(); len(problems) > 0 {
		return nil, fmt.Errorf("redaction rules: %s: %s", problems[0].Param, problems[0].Message)
	}
	x := &Redactor{}
	for _, b := range builtins { // in table order, so that the order of r.Builtin does not change the marks
		if slices.Contains(r.Builtin, b.Name) {
			// Built-in rules are fast enough to ignore the deadline.
			find := func(text string, _ func() bool, found func(start, end int)) { b.find(text, found) }
			x.rules = append(x.rules, rule{b.Name, find})
		}
	}
	for _, c := range r.Custom {
		pattern, err := regexp.Compile(c.Pattern)
		if err != nil {
			return nil, fmt.Errorf("redaction rule %q: %w", c.Name, err)
		}
		x.rules = append(x.rules, rule{c.Name, matches(pattern)})
	}
	return x, nil
}

// matches returns a finder for the non-empty matches of a pattern. Finding one match takes time linear in the length of
// the text. Finding all matches takes quadratic time if the pattern reads far ahead, such as a.*b|a, so the finder checks
// the deadline after every match.
func matches(pattern *regexp.Regexp) finder {
	return func(text string, expired func() bool, found func(start, end int)) {
		defer func() {
			r := recover()
			if _, ok := r.(expiredSearch); !ok && r != nil {
				panic(r)
			}
		}()
		source := []byte(text)
		// ReplaceAllFunc calls a function for every match, so that a panic can end the search there. A match is a subslice
		// of source, so the difference of their capacities is its position.
		pattern.ReplaceAllFunc(source, func(match []byte) []byte {
			if len(match) > 0 {
				start := cap(source) - cap(match)
				found(start, start+len(match))
			}
			if expired() {
				panic(expiredSearch{})
			}
			return nil
		})
	}
}

// expiredSearch is the panic value that ends a search after the deadline.
type expiredSearch struct{}

// Mark returns the replacement for matches of the rule with the given name.
func Mark(name string) string { return "[redacted: " + name + "]" }

// Builtins lists the built-in rules.
func Builtins() []Builtin { return slices.Clone(builtins) }

// Names lists the names of the built-in rules.
func Names() []string {
	names := make([]string, 0, len(builtins))
	for _, b := range builtins {
		names = append(names, b.Name)
	}
	return names
}

// Known reports whether name is the name of a built-in rule.
func Known(name string) bool { return slices.Contains(Names(), name) }

// Builtin is a predefined rule.
type Builtin struct {
	Name string
	Doc  string // description in one sentence
	find func(text string, found func(start, end int))
}

var builtins = []Builtin{
	{"secret", "API keys, bearer tokens, JSON web tokens, private keys, and passwords in URLs.", findSecrets},
	{"email", "E-mail addresses.", findEmails},
	{"iban", "International bank account numbers with valid check digits.", findIBANs},
	{"card", "Payment card numbers of 13 to 19 digits that pass the Luhn check.", findCards},
	{"ssn", "US social security numbers with dashes.", findSSNs},
	{"phone", "International phone numbers, and grouped national ones.", findPhones},
	{"ip", "IPv4 and IPv6 addresses.", findAddresses},
}

// isWord reports whether the byte c belongs to a letter, a digit or an underscore. Bytes outside ASCII count as parts of letters.
func isWord(c byte) bool { return isAlnum(c) || c == '_' || c >= 0x80 }

func isAlnum(c byte) bool { return isDigit(c) || isLetter(c) }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

func isLetter(c byte) bool { return isUpper(c) || (c >= 'a' && c <= 'z') }

// before and after return the byte before and the byte after a range, or 0 at the ends of the text.
func before(s string, start int) byte {
	if start == 0 {
		return 0
	}
	return s[start-1]
}

func after(s string, end int) byte {
	if end >= len(s) {
		return 0
	}
	return s[end]
}

// eachRun calls the function see for every maximal range of bytes in the set.
func eachRun(s string, set *[256]bool, see func(start, end int)) {
	for i := 0; i < len(s); i++ {
		if !set[s[i]] {
			continue
		}
		start := i
		for i < len(s) && set[s[i]] {
			i++
		}
		see(start, i)
	}
}

func setOf(chars string) *[256]bool {
	var set [256]bool
	for i := range len(chars) {
		set[chars[i]] = true
	}
	return &set
}

const (
	digits  = "0123456789"
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// sets holds the character sets of the values that the built-in rules find.
var sets = struct{ plain, name, upper, bearer, jwt, number, phone, address, base64 *[256]bool }{
	plain:   setOf(digits + letters),
	name:    setOf(digits + letters + "_-"),
	upper:   setOf(digits + letters[:26]),
	bearer:  setOf(digits + letters + "-._~+/="),
	jwt:     setOf(digits + letters + "_-."),
	number:  setOf(digits + " -"),
	phone:   setOf(digits + "+() .-/"),
	address: setOf(digits + "abcdefABCDEF:."),
	base64:  setOf(digits + letters + "+/=_-"),
}

func countDigits(s string) int {
	n := 0
	for i := range len(s) {
		if isDigit(s[i]) {
			n++
		}
	}
	return n
}
