package config

import "reflect"

// Diff lists the paths whose values differ: those that take effect at once, and those that need a restart.
func Diff(before, after *Config) (reloadable, needRestart []string) {
	pairs(reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem(), "", func(path string, reload bool, a, b reflect.Value) {
		switch {
		case same(a, b):
		case reload:
			reloadable = append(reloadable, path)
		default:
			needRestart = append(needRestart, path)
		}
	})
	return reloadable, needRestart
}

// KeepUntilRestart gives a configuration that is read while another runs the values of that one where a change needs a restart: what is
// shown, measured and built by them goes on to agree with what was opened by them.
func KeepUntilRestart(running, next *Config) {
	pairs(reflect.ValueOf(running).Elem(), reflect.ValueOf(next).Elem(), "", func(_ string, reload bool, a, b reflect.Value) {
		if !reload {
			b.Set(a)
		}
	})
}

// pairs shows the fields of two sections beside each other, those of sections in them one by one. What is said of reloading a section
// holds for all that is in it, unless it says otherwise.
func pairs(a, b reflect.Value, path string, see func(path string, reload bool, a, b reflect.Value)) {
	for _, f := range fieldsOf(a.Type()) {
		fa, fb, fpath := a.Field(f.index), b.Field(f.index), join(path, f.name)
		if f.typ.Kind() != reflect.Struct {
			see(fpath, f.reload, fa, fb)
			continue
		}
		pairs(fa, fb, fpath, func(path string, reload bool, a, b reflect.Value) { see(path, reload && f.reload, a, b) })
	}
}

// same reports whether two values mean the same: an empty list is none, and policies may move in the file.
func same(a, b reflect.Value) bool {
	if a.Type() == policiesType && samePolicies(a.String(), b.String()) {
		return true
	}
	bothEmpty := a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0
	return bothEmpty || reflect.DeepEqual(a.Interface(), b.Interface())
}
