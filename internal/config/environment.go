package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"fairlead.dev/internal/document"
	"fairlead.dev/internal/spelling"
)

// environment applies the environment variables FAIRLEAD_*. An empty variable is ignored, because compose files and charts pass
// unset values this way. An empty secret is reported as a problem.
func (l *loader) environment() {
	known := settings(reflect.TypeFor[Config](), "", nil)
	byVariable := make([]string, 0, len(known))
	for _, s := range known {
		byVariable = append(byVariable, s.variable)
		value, ok := l.environ[s.variable]
		if ok && (value != "" || s.field.secret == "true") {
			l.assign(s, value, Origin{Kind: FromEnvironment, Source: s.variable})
		}
	}
	for _, name := range l.variables {
		if !strings.HasPrefix(name, "FAIRLEAD_") || slices.Contains(byVariable, name) || name == "FAIRLEAD_CONFIG" {
			continue
		}
		if path, wrong, ok := removedVariable(name); ok {
			l.report(path, Origin{Kind: FromEnvironment, Source: name}, wrong)
			continue
		}
		// Only a variable similar to a known one causes a warning, because cluster managers and test harnesses use the same prefix.
		if meant := spelling.Closest(name, byVariable); meant != "" && spelling.Edits(name, meant) <= 2 {
			l.warnings = append(l.warnings, fmt.Sprintf("unknown environment variable %s is ignored; did you mean %s?", document.Clean(name), meant))
		}
	}
}

// flags applies the flags.
func (l *loader) flags(flags map[string]string) {
	known := settings(reflect.TypeFor[Config](), "", nil)
	for _, s := range known {
		if value, ok := flags[s.path]; ok {
			l.assign(s, value, Origin{Kind: FromFlag, Source: flagOf(s.path)})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(flags)) {
		if !slices.ContainsFunc(known, func(s setting) bool { return s.path == path }) {
			l.report(path, Origin{Kind: FromFlag, Source: flagOf(path)}, fault{code: UnknownSetting, message: "unknown field " + document.Quote(path), fix: "use a field of the configuration"})
		}
	}
}

func flagOf(path string) string {
	return "--" + strings.NewReplacer(".", "-", "_", "-").Replace(path)
}

// assign sets a field from an environment variable or a flag. Lists of strings are comma-separated, maps are comma-separated name=value
// pairs, and lists of sections are YAML.
func (l *loader) assign(s setting, text string, o Origin) {
	v := reflect.ValueOf(&l.config).Elem().FieldByIndex(s.index)
	delete(l.damaged, s.path) // problems in lower layers do not apply to the new value
	switch {
	case isStructs(s.field.typ), s.field.typ == policiesType:
		l.assignYAML(s, v, text, o)
	case v.Kind() == reflect.Slice:
		var parts []string
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				parts = append(parts, part)
			}
		}
		forget(l.origins, s.path)
		l.origins[s.path] = o
		v.Set(reflect.ValueOf(parts))
	case v.Kind() == reflect.Map:
		m := map[string]string{}
		for pair := range strings.SplitSeq(text, ",") {
			name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
			if !ok {
				l.damaged[s.path] = true
				l.report(s.path, o, fault{code: BadValue, message: s.field.name + " has an entry without a value", fix: "write name=value, separated by commas"})
				return
			}
			m[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
		forget(l.origins, s.path)
		l.origins[s.path] = o
		v.Set(reflect.ValueOf(m))
	default:
		l.origins[s.path] = o
		l.set(v, s.field, text, s.path, o)
	}
}

func (l *loader) assignYAML(s setting, v reflect.Value, text string, o Origin) {
	if len(text) > largestFile {
		l.report(s.path, o, fault{code: TooLarge, message: "the value is larger than 1MiB", fix: "use a file"})
		return
	}
	root, wrong, _ := parse([]byte(text))
	if wrong != nil {
		l.report(s.path, o, *wrong)
		return
	}
	if root != nil {
		forget(l.origins, s.path)
		d := &decoder{loader: l, source: o}
		d.value(root, v, s.field, s.path)
	}
}
