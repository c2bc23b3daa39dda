package config

import (
	"fmt"
	"strings"
)

// OriginKind says which layer a value came from. Later layers win.
type OriginKind string

// The layers, in order.
const (
	FromDefault     OriginKind = "default"
	FromFile        OriginKind = "file"
	FromEnvironment OriginKind = "environment"
	FromFlag        OriginKind = "flag"
)

// Origin says where a value came from.
type Origin struct {
	Kind   OriginKind
	Source string // path of the file, or name of the variable or flag
	Line   int    // in the file
	Column int

	width int
}

// String is the origin as people read it: "default", "fairlead.yaml:12", "FAIRLEAD_LISTEN", "--listen".
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

// origin of a path: its own, or that of the nearest list it is in.
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

// forget drops what is known about a list that a later layer replaces.
func forget(origins map[string]Origin, path string) {
	for known := range origins {
		if strings.HasPrefix(known, path+"[") || strings.HasPrefix(known, path+".") {
			delete(origins, known)
		}
	}
}
