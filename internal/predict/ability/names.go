package ability

import (
	"regexp"
	"strings"

	"fairlead.dev/internal/catalog"
)

// metaPrefix matches name prefixes that contain Meta's name, such as meta-llama-3.1-.
var metaPrefix = regexp.MustCompile(`^(?:meta-llama_)?meta-llama-3(?:[._]1)?-`)

// hostSuffix matches suffixes that hosts add to the names of open-weight models.
var hostSuffix = regexp.MustCompile(`(?:-fp8|-turbo|-awq|:free|:latest|-latest)$`)

// Canonical returns a model's name in lower case without the vendor. If the training data contains the model, it returns the spelling used
// there.
func Canonical(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	name = name[strings.LastIndexByte(name, '/')+1:]
	if other, ok := catalog.TrainedName(name); ok {
		return other
	}
	if metaPrefix.MatchString(name) && strings.HasSuffix(name, "-instruct") {
		_, rest, _ := strings.Cut(name, "llama-3")
		name = strings.Replace("llama-3"+rest, "3_1", "3.1", 1)
	}
	return name
}

// spellings returns the names to look up, most exact first.
func spellings(name string) []string {
	first := Canonical(name)
	list := []string{first}
	if bare := hostSuffix.ReplaceAllString(first, ""); bare != first {
		list = append(list, Canonical(bare))
	}
	return list
}
