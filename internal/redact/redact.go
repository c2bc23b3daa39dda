// Package redact owns the rules that take things out of texts before they are stored: e-mail addresses, card numbers,
// keys and whatever else a workspace names. It is pure: what the rules are and where texts go is its callers' matter.
//
// What a rule finds is replaced by a mark that names the rule, such as [redacted: email]. In a JSON document only the
// insides of string values change, so it stays a valid document with the same members. Every rule takes time linear
// in the length of a text.
package redact

import (
	"fmt"
	"regexp"
	"slices"
)

// Rules say what is taken out of texts.
type Rules struct {
	Builtin []string `json:"builtin"` // names of built-in rules
	Custom  []Custom `json:"custom"`
}

// Custom is a rule of one's own: what its pattern, in RE2 syntax, matches is taken out.
type Custom struct {
	Name    string `json:"name"`
	Pattern string `json:"pattern"`
}

// Empty reports whether the rules take nothing out.
func (r Rules) Empty() bool { return len(r.Builtin) == 0 && len(r.Custom) == 0 }

// rule finds pieces of a text. It may find pieces that overlap.
type rule struct {
	name string
	find finder
}

// finder calls found with each piece that it finds. A slow one asks expired now and then, and gives up when it says true.
type finder func(text string, expired func() bool, found func(start, end int))

// quick makes a finder of a function that takes no time worth asking for.
func quick(find func(text string, found func(start, end int))) finder {
	return func(text string, _ func() bool, found func(start, end int)) { find(text, found) }
}

// Redactor applies rules. It is never changed and can be used by many at once.
type Redactor struct{ rules []rule }

// New makes a redactor. The error names the first problem that Check finds.
func New(r Rules) (*Redactor, error) {
	if problems := r.Check(); len(problems) > 0 {
		return nil, fmt.Errorf("redaction rules: %s: %s", problems[0].Param, problems[0].Message)
	}
	x := &Redactor{}
	for _, b := range builtins { // in the table's order, so that the same rules always give the same marks
		if slices.Contains(r.Builtin, b.Name) {
			x.rules = append(x.rules, rule{b.Name, quick(b.find)})
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

// matches finds the non-empty matches of a pattern. A pattern that has to read far ahead for each match, such as a.*b|a, takes
// quadratic time for all matches, so the finder asks after every match whether there is time left. One search takes time
// linear in the length of the text.
func matches(pattern *regexp.Regexp) finder {
	return func(text string, expired func() bool, found func(start, end int)) {
		defer func() {
			r := recover()
			if _, ok := r.(expiredSearch); !ok && r != nil {
				panic(r)
			}
		}()
		source := []byte(text)
		// Of the functions of regexp that find all matches, those that replace are the only ones that can be left between two
		// matches. A match is a part of the source and has its capacity up to the end, which gives its position.
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

// expiredSearch is the panic that leaves a search whose time is over.
type expiredSearch struct{}

// Mark is what stands in the place of something that the rule of this name found.
func Mark(name string) string { return "[redacted: " + name + "]" }

// Builtins lists the built-in rules with what they find.
func Builtins() []Builtin { return slices.Clone(builtins) }

// Names lists the names of the built-in rules.
func Names() []string {
	names := make([]string, 0, len(builtins))
	for _, b := range builtins {
		names = append(names, b.Name)
	}
	return names
}

// Known reports whether there is a built-in rule of this name.
func Known(name string) bool { return slices.Contains(Names(), name) }

// Builtin is a rule that everybody has.
type Builtin struct {
	Name string
	Doc  string // what it finds, in a sentence
	find func(text string, found func(start, end int))
}

var builtins = []Builtin{
	{"secret", "API keys, bearer tokens, JSON web tokens, private keys, and passwords in addresses.", findSecrets},
	{"email", "E-mail addresses.", findEmails},
	{"iban", "International bank account numbers with the right check digits.", findIBANs},
	{"card", "Payment card numbers of 13 to 19 digits that pass the Luhn check.", findCards},
	{"ssn", "United States social security numbers, written with dashes.", findSSNs},
	{"phone", "Phone numbers: international ones, and national ones in groups.", findPhones},
	{"ip", "IPv4 and IPv6 addresses.", findAddresses},
}

// isWord reports bytes that letters, digits and names consist of. Bytes of other scripts count as letters.
func isWord(c byte) bool { return isAlnum(c) || c == '_' || c >= 0x80 }

func isAlnum(c byte) bool { return isDigit(c) || isLetter(c) }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

func isLetter(c byte) bool { return isUpper(c) || (c >= 'a' && c <= 'z') }

// before and after are the bytes around a piece; 0 at the ends of the text.
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

// runs calls see with every longest piece of the text whose bytes are all in the set.
func runs(s string, set *[256]bool, see func(start, end int)) {
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

func countDigits(s string) int {
	n := 0
	for i := range len(s) {
		if isDigit(s[i]) {
			n++
		}
	}
	return n
}
