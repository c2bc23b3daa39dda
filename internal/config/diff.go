package config

import (
	"reflect"
	"strings"
)

// Diff lists the paths whose values differ, separated into values that can be reloaded and values that require a restart.
func Diff(before, after *Config) (reloadable, needRestart []string) {
	pairs(reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem(), "", func(path string, reload bool, a, b reflect.Value) {
		bothEmpty := a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0                                       // nil equals an empty list
		samePolicies := a.Type() == policiesType && strings.Trim(a.String(), "\n") == strings.Trim(b.String(), "\n") // ignores the position in the file, which blank lines preserve
		switch {
		case bothEmpty, samePolicies, reflect.DeepEqual(a.Interface(), b.Interface()):
		case reload:
			reloadable = append(reloadable, path)
		default:
			needRestart = append(needRestart, path)
		}
	})
	return reloadable, needRestart
}

// KeepUntilRestart copies the values that require a restart from running to next, so that next matches the resources that are
// already open.
func KeepUntilRestart(running, next *Config) {
	pairs(reflect.ValueOf(running).Elem(), reflect.ValueOf(next).Elem(), "", func(_ string, reload bool, a, b reflect.Value) {
		if !reload {
			b.Set(a)
		}
	})
}

// pairs calls see for each pair of fields in two sections, including nested sections. A nested field is reloadable only if all enclosing
// sections are reloadable.
func pairs(a, b reflect.Value, path string, see func(path string, reload bool, a, b reflect.Value)) {
	for _, f := range tables[a.Type()] {
		fa, fb, fpath := a.Field(f.index), b.Field(f.index), join(path, f.name)
		if f.typ.Kind() != reflect.Struct {
			see(fpath, f.reload, fa, fb)
			continue
		}
		pairs(fa, fb, fpath, func(path string, reload bool, a, b reflect.Value) { see(path, reload && f.reload, a, b) })
	}
}
