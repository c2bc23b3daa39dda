package gemini

import (
	"slices"
	"strconv"
	"strings"
)

// Traits is what a model takes, besides what all models of the format take.
type Traits struct {
	NoSystem        bool // knows no instructions apart from the conversation
	JSONSchema      bool // takes plain JSON Schema; else only the OpenAPI subset
	JSONAndTools    bool // gives JSON output also where there are tools
	NeedsSignatures bool // refuses calls in the history without the seal that it put on them
	FileURLs        bool // fetches public files by itself
	CallIDs         bool // tells calls apart by ids
	Penalties       bool // takes frequency and presence penalties
	Tiers           bool // lets the request choose the service tier
	Thinking        Thinking
}

// Thinking is how a model is told how much to think. Without levels and without a budget it does not think.
type Thinking struct {
	Levels []string // the levels it knows, from less to more
	Most   int64    // the largest budget in tokens; 0 for a model that takes none
	Least  int64    // the smallest
	Off    bool     // a budget of 0 turns thinking off
}

// TraitsOf tells a model by its name at the provider. A name without a version is a pointer to the newest model.
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
	switch {
	case !known || version >= 300:
		return newest(rest, version)
	case version >= 250:
		return Traits{JSONSchema: true, FileURLs: true, Penalties: true, Tiers: true, Thinking: budgets(rest)}
	}
	return Traits{Penalties: true}
}

func newest(name string, version int) Traits {
	t := Traits{JSONSchema: true, JSONAndTools: true, NeedsSignatures: true, FileURLs: true, CallIDs: true, Tiers: true}
	levels := []string{"minimal", "low", "medium", "high"}
	switch {
	case strings.Contains(name, "pro") && version == 300:
		levels = []string{"low", "high"}
	case strings.Contains(name, "pro"), version == 0, version >= 360 && !strings.Contains(name, "lite"):
		levels = levels[1:]
	}
	t.Thinking = Thinking{Levels: levels, Most: 32768}
	return t
}

func budgets(name string) Thinking {
	switch {
	case strings.Contains(name, "pro"):
		return Thinking{Least: 128, Most: 32768}
	case strings.Contains(name, "lite"):
		return Thinking{Least: 512, Most: 24576, Off: true}
	}
	return Thinking{Least: 1, Most: 24576, Off: true}
}

// versionOf reads 250 from 2.5-flash and 300 from 3-pro-preview.
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

// nearest is the level that comes closest to the one asked for, and whether it is the same.
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
