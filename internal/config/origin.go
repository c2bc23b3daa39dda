package config

import (
	"fmt"
	"strings"
)

// OriginKind is the layer that set a value. Later layers take precedence.
type OriginKind string

// The layers, in order.
const (
	FromDefault     OriginKind = "default"
	FromFile        OriginKind = "file"
	FromEnvironment OriginKind = "environment"
	FromFlag        OriginKind = "flag"
)

// Origin is the source of a value.
type Origin struct {
	Kind   OriginKind
	Source string // path of the file, or name of the variable or flag
	Line   int    // line in the file; 0 if the source is not a file
	Column int

	width int
}

// String formats the origin: "default", "fairlead.yaml:12", "FAIRLEAD_LISTEN", "--listen".
func (o Origin) String() string {
	switch o.Kind {
	case FromFile:
		return fmt.Sprintf("%s:%d", o.Source, o.Line)
	case FromEnvironment, FromFlag:
		return o.Source
	case FromDefault:
	}
	return string(FromDefault)
}

// originOf returns the origin of a path, or the origin of its nearest parent that has one.
func originOf(origins map[string]Origin, path string) Origin {
	for {
		if o, ok := origins[path]; ok {
			return o
		}
		cut := strings.LastIndexAny(path, ".[")
		if cut < 0 {
			return Origin{Kind: FromDefault}
		}
		path = path[:cut]
	}
}

// forget removes the origins of the entries of a list or map that a later layer overrides.
func forget(origins map[string]Origin, path string) {
	for known := range origins {
		if strings.HasPrefix(known, path+"[") || strings.HasPrefix(known, path+".") {
			delete(origins, known)
		}
	}
}
