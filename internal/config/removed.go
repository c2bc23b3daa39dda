package config

import (
	"fmt"
	"regexp"
	"strings"
)

// removed lists settings that no longer exist, with the setting that replaces each of them. A section stands for all of its settings, and
// the index of a list is omitted, as in providers.name.
var removed = map[string]string{
	"catalog.file":    "",
	"catalog.from":    "",
	"hedging":         "",
	"log.search":      "",
	"routing.explore": "",
}

var listIndex = regexp.MustCompile(`\[\d+\]`)

// removedSetting returns the problem of a setting that was removed.
func removedSetting(path string) (fault, bool) {
	replacement, ok := removed[listIndex.ReplaceAllString(path, "")]
	if !ok {
		return fault{}, false
	}
	fix := "remove it"
	if replacement != "" {
		fix = "use " + replacement
	}
	return fault{code: UnknownField, message: fmt.Sprintf("`%s` was removed; see the release notes", path), fix: fix}, true
}

// removedVariable returns the path and the problem of an environment variable for a setting that was removed.
func removedVariable(name string) (string, fault, bool) {
	for path := range removed {
		if variable := variableOf(path); name == variable || strings.HasPrefix(name, variable+"_") {
			wrong, _ := removedSetting(path)
			return path, wrong, true
		}
	}
	return "", fault{}, false
}
