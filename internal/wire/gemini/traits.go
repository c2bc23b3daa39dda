package gemini

import (
	"slices"
	"strconv"
	"strings"
)

// Traits describes how a model differs from other models of the format.
type Traits struct {
	NoSystem        bool // whether the model rejects system instructions
	JSONSchema      bool // whether the model supports JSON Schema; otherwise it supports only the OpenAPI subset
	JSONAndTools    bool // whether the model supports JSON output together with tools
	NeedsSignatures bool // whether the model rejects a turn whose first call has no signature
	FileURLs        bool // whether the provider fetches files from public URLs
	CallIDs         bool // whether the model matches calls by ID
	Penalties       bool // whether the model supports frequency and presence penalties
	Tiers           bool // whether the model supports service tiers in requests
	Search          bool // whether the model supports web search
	Thinking        Thinking
}

// Thinking describes the thinking settings of a model.
type Thinking struct {
	Levels []string // supported effort levels, lowest first
	Most   int64    // maximum budget in tokens; 0 if the model does not think
	Least  int64    // minimum budget in tokens
	Off    bool     // whether a budget of 0 disables thinking
}

// TraitsOf returns the traits of a model by its upstream name. A name without a version is an alias of the newest
// model.
func TraitsOf(model string) Traits {
	model = strings.TrimPrefix(model, "models/")
	if strings.HasPrefix(model, "gemma") {
		return Traits{NoSystem: true}
	}
	rest, ok := strings.CutPrefix(model, "gemini-")
	if !ok {
		return Traits{}
	}
	version, known := versionOf(rest)
	pro, lite := strings.Contains(rest, "pro"), strings.Contains(rest, "lite")
	switch {
	case !known || version >= 300:
		levels := []string{"minimal", "low", "medium", "high"}
		switch {
		case pro && version == 300:
			levels = []string{"low", "high"}
		case pro, version == 0, version >= 360 && !lite:
			levels = levels[1:]
		}
		return Traits{
			JSONSchema: true, JSONAndTools: true, NeedsSignatures: true, FileURLs: true, CallIDs: true, Tiers: true, Search: true,
			Thinking: Thinking{Levels: levels, Most: 32768},
		}
	case version >= 250:
		t := Traits{JSONSchema: true, FileURLs: true, Penalties: true, Tiers: true, Search: true}
		switch {
		case pro:
			t.Thinking = Thinking{Least: 128, Most: 32768}
		case lite:
			t.Thinking = Thinking{Least: 512, Most: 24576, Off: true}
		default:
			t.Thinking = Thinking{Least: 1, Most: 24576, Off: true}
		}
		return t
	}
	return Traits{Penalties: true, Search: version >= 200}
}

// versionOf returns the version in a model name, multiplied by 100: 250 for 2.5-flash and 300 for 3-pro-preview.
func versionOf(name string) (int, bool) {
	digits, _, _ := strings.Cut(name, "-")
	major, minor, _ := strings.Cut(digits, ".")
	a, err := strconv.Atoi(major)
	if err != nil || a < 0 || a > 1000 {
		return 0, false
	}
	b, err := strconv.Atoi(minor)
	if err != nil || b < 0 || b > 9 {
		b = 0
	}
	return a*100 + b*10, true
}

// nearest returns the requested level if it is supported, otherwise the next higher supported level, or the highest one. For an unknown
// level, it returns the lowest one. The bool reports whether the requested level is supported.
func (t Thinking) nearest(level string) (string, bool) {
	if slices.Contains(t.Levels, level) {
		return level, true
	}
	order := []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	asked := slices.Index(order, level)
	for _, known := range t.Levels {
		if slices.Index(order, known) >= asked {
			return known, false
		}
	}
	return t.Levels[len(t.Levels)-1], false
}
