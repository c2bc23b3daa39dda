package config

import "reflect"

// Diff lists the paths whose values differ: those that take effect at once, and those that need a restart.
func Diff(before, after *Config) (reloadable, needRestart []string) {
	a, b := reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem()
	for _, f := range fieldsOf(a.Type()) {
		changed := differences(a.Field(f.index), b.Field(f.index), f.name)
		if f.reload {
			reloadable = append(reloadable, changed...)
		} else {
			needRestart = append(needRestart, changed...)
		}
	}
	return reloadable, needRestart
}

// KeepUntilRestart gives a configuration that is read while another runs the values of that one where a change needs a restart: what is
// shown, measured and built by them goes on to agree with what was opened by them.
func KeepUntilRestart(running, next *Config) {
	a, b := reflect.ValueOf(running).Elem(), reflect.ValueOf(next).Elem()
	for _, f := range fieldsOf(a.Type()) {
		if !f.reload {
			b.Field(f.index).Set(a.Field(f.index))
		}
	}
}

// differences lists what differs at and below a path; a list that differs is one difference.
func differences(a, b reflect.Value, path string) []string {
	if a.Kind() == reflect.Struct {
		var changed []string
		for _, f := range fieldsOf(a.Type()) {
			changed = append(changed, differences(a.Field(f.index), b.Field(f.index), join(path, f.name))...)
		}
		return changed
	}
	if a.Type() == policiesType && samePolicies(a.String(), b.String()) {
		return nil
	}
	bothEmpty := a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0
	if bothEmpty || reflect.DeepEqual(a.Interface(), b.Interface()) {
		return nil
	}
	return []string{path}
}
