package openai

import (
	"regexp"
	"slices"
)

// family describes what a family of models accepts, according to the vendor's model pages.
type family struct {
	names   *regexp.Regexp
	efforts []string // reasoning efforts; nil for models that do not reason
	// toolsNeedResponses is set if chat completions accepts function tools only with the effort none.
	toolsNeedResponses bool
	responsesOnly      bool // whether chat completions rejects the model
	verbosity          bool // whether a verbosity other than medium is accepted
	breakpoints        bool // whether explicit prompt cache breakpoints are accepted
}

func efforts(names ...string) []string { return names }

// families lists the families. A model belongs to the first row whose pattern matches its name.
var families = []family{
	{names: regexp.MustCompile(`^gpt-5(\.3)?-chat`), verbosity: true},
	{names: regexp.MustCompile(`^gpt-5\.\d-chat`), efforts: efforts("medium"), verbosity: true},
	{names: regexp.MustCompile(`^gpt-5-pro`), efforts: efforts("high"), responsesOnly: true, verbosity: true},
	{names: regexp.MustCompile(`^gpt-5\.\d-pro`), efforts: efforts("medium", "high", "xhigh"), responsesOnly: true, verbosity: true},
	{names: regexp.MustCompile(`^gpt-5(\.1)?-codex(-mini)?$`), efforts: efforts("low", "medium", "high"), responsesOnly: true},
	{names: regexp.MustCompile(`^gpt-5\.1-codex-max`), efforts: efforts("low", "medium", "high", "xhigh"), responsesOnly: true},
	{names: regexp.MustCompile(`^gpt-5\.[23]-codex`), efforts: efforts("low", "medium", "high", "xhigh"), responsesOnly: true, verbosity: true},
	{names: regexp.MustCompile(`^gpt-5(-mini|-nano)?(-20.*)?$`), efforts: efforts("minimal", "low", "medium", "high"), verbosity: true},
	{names: regexp.MustCompile(`^gpt-5\.1`), efforts: efforts("none", "low", "medium", "high"), verbosity: true},
	{names: regexp.MustCompile(`^gpt-5\.2`), efforts: efforts("none", "low", "medium", "high", "xhigh"), verbosity: true},
	{names: regexp.MustCompile(`^gpt-5\.[45]`), efforts: efforts("none", "low", "medium", "high", "xhigh"), toolsNeedResponses: true, verbosity: true},
	{names: regexp.MustCompile(`^gpt-5\.[6-9]`), efforts: efforts("none", "low", "medium", "high", "xhigh", "max"), toolsNeedResponses: true, verbosity: true, breakpoints: true},
	{names: regexp.MustCompile(`^gpt-[6-9]`), efforts: efforts("low", "medium", "high", "xhigh", "max"), toolsNeedResponses: true, verbosity: true, breakpoints: true},
	{names: regexp.MustCompile(`^o[13]-pro`), efforts: efforts("low", "medium", "high"), responsesOnly: true},
	{names: regexp.MustCompile(`^o\d`), efforts: efforts("low", "medium", "high")},
	{names: regexp.MustCompile(`^(gpt-|chatgpt-|text-embedding-)`)},
}

// findFamily returns the family of a model, or nil for a model that the vendor does not have.
func findFamily(model string) *family {
	i := slices.IndexFunc(families, func(f family) bool { return f.names.MatchString(model) })
	if i < 0 {
		return nil
	}
	return &families[i]
}

func (f *family) reasons() bool { return len(f.efforts) > 0 }

// samples reports whether the model accepts sampling parameters with the given effort. A reasoning model accepts them only
// without reasoning.
func (f *family) samples(effort string) bool { return !f.reasons() || effort == "none" }
