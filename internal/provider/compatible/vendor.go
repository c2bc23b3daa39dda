// Package compatible is every vendor that speaks the chat format, OpenAI included: one row of data each. What a vendor
// does differently is said in its row, and what a model does differently in the catalog; there is no vendor's own code.
package compatible

import (
	"slices"
	"strings"

	"fairlead/internal/llm"
)

// Vendor is one row: who it is, where it is, and what it does unlike the others.
type Vendor struct {
	Name    string // as in the catalog's offers
	Title   string // as people call it
	BaseURL string // {NAME} stands for the value of an environment variable; empty when it must be configured
	Env     []string
	URLEnv  string // the variable that replaces BaseURL, where the vendor's own tools know one

	ChatPath   string // relative to BaseURL; empty when it offers no chat
	EmbedPath  string
	ModelsPath string
	Auth       string // header that carries the bare key; empty for Authorization: Bearer

	Local    bool // runs on this machine: found by looking, needs no key, costs nothing per token
	Collects bool // may keep or train on what it is sent

	Lacks  llm.Abilities // what it serves no model with
	Asks   Asks
	Answer Answer
}

// Asks is what must change in a request before the vendor takes it. Names are those of top-level members.
type Asks struct {
	MaxTokensOnly   bool                         // knows max_tokens, not max_completion_tokens
	NoStreamOptions bool                         // refuses stream_options
	NoBase64        bool                         // gives vectors as numbers only, and may not know encoding_format
	NoTokenIDs      bool                         // embeds text, not token ids
	NineCharCallIDs bool                         // takes no tool-call ids but those of nine letters and digits
	Accepts         []string                     // refuses every member but these, as the caller names them; nil accepts all
	Drop            []string                     // refuses these
	Rename          map[string]string            // knows these by another name
	Values          map[string]map[string]string // knows these values, as JSON, by another name
	Weaker          map[string]map[string]string // knows only something weaker than these values: the caller is warned
}

// Answer is what differs in what the vendor sends back.
type Answer struct {
	UsageAt        string // where a stream's usage is, when not in usage: a path such as x_groq.usage
	ReasoningOnTop bool   // counts reasoning tokens beside completion_tokens, not inside
}

// Vendors lists the rows by name.
func Vendors() []Vendor {
	rows := slices.Concat(first, hosts, local)
	slices.SortFunc(rows, func(a, b Vendor) int { return strings.Compare(a.Name, b.Name) })
	return rows
}

// Find returns the row of this name.
func Find(name string) (Vendor, bool) {
	for _, rows := range [][]Vendor{first, hosts, local} {
		if i := slices.IndexFunc(rows, func(v Vendor) bool { return v.Name == name }); i >= 0 {
			return rows[i], true
		}
	}
	return Vendor{}, false
}

// Address is where the vendor is, as the environment has it. It reports false when something it needs is not set.
// lookup is os.Getenv or stands in for it.
func (v Vendor) Address(lookup func(string) string) (string, bool) {
	if v.URLEnv != "" {
		if url := lookup(v.URLEnv); url != "" {
			return strings.TrimRight(url, "/"), true
		}
	}
	url := v.BaseURL
	for {
		before, rest, found := strings.Cut(url, "{")
		if !found {
			return url, url != ""
		}
		name, after, _ := strings.Cut(rest, "}")
		value := strings.TrimRight(lookup(name), "/")
		if value == "" {
			return "", false
		}
		url = before + value + after
	}
}

// Key returns the vendor's secret in the environment and the name of the variable that holds it.
func (v Vendor) Key(lookup func(string) string) (secret, variable string) {
	for _, name := range v.Env {
		if secret := lookup(name); secret != "" {
			return secret, name
		}
	}
	return "", ""
}
