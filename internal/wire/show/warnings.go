package show

import (
	"cmp"
	"fmt"
	"slices"
)

// Warnings collects the warnings about the encoding of one request: at most MaxWarnings, without duplicates.
type Warnings []string

// Add adds a formatted warning.
func (w *Warnings) Add(format string, args ...any) {
	if len(*w) == MaxWarnings {
		return
	}
	if warning := fmt.Sprintf(format, args...); !slices.Contains(*w, warning) {
		*w = append(*w, warning)
	}
}

// Name formats the name of a member for a message. A name that consists of letters, digits and common separators is cut to 60 bytes; any
// other name is quoted.
func Name(name string) string {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' {
			return Quote(name)
		}
	}
	return cmp.Or(Cut(name, 60), `""`)
}
