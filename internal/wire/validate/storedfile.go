package validate

import (
	"iter"

	"fairlead.dev/internal/rawjson"
)

// FileIDs yields the file IDs in the value v of the member with the given name, in document order. File IDs are the values of file_id and
// file_ids at any depth.
func FileIDs(name string, v rawjson.Value) iter.Seq[rawjson.Value] {
	return func(yield func(rawjson.Value) bool) { fileIDs(name, v, yield) }
}

func fileIDs(name string, v rawjson.Value, yield func(rawjson.Value) bool) bool {
	if v.Kind == rawjson.Text && (name == "file_id" || name == "file_ids") {
		return yield(v)
	}
	more := true
	v.ForEach(func(key, value rawjson.Value) bool {
		inner := name // treat an element of a list as if it had the name of the list
		if v.IsObject() {
			inner = key.String()
		}
		more = fileIDs(inner, value, yield)
		return more
	})
	return more
}
