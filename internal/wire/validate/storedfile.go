package validate

import (
	"iter"

	"fairlead.dev/internal/rawjson"
)

// FileIDs yields the file IDs in a member of a request, in document order: the values of file_id and file_ids at any depth.
func FileIDs(name string, v rawjson.Value) iter.Seq[rawjson.Value] {
	return func(yield func(rawjson.Value) bool) { fileIDs(name, v, yield) }
}

func fileIDs(name string, v rawjson.Value, yield func(rawjson.Value) bool) bool {
	if v.Kind == rawjson.Text && (name == "file_id" || name == "file_ids") {
		return yield(v)
	}
	more := true
	v.ForEach(func(key, value rawjson.Value) bool {
		inner := name // an element of a list has the name of the list
		if v.IsObject() {
			inner = key.String()
		}
		more = fileIDs(inner, value, yield)
		return more
	})
	return more
}
