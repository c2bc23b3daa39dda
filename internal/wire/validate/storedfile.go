package validate

import "fairlead.dev/internal/rawjson"

// FileIDs calls found for the ids of files in a member of a request, in the order of the request: file_id and file_ids at any depth.
func FileIDs(name string, v rawjson.Value, found func(id string)) {
	if v.Kind == rawjson.Text && (name == "file_id" || name == "file_ids") {
		found(v.String())
	}
	v.ForEach(func(key, value rawjson.Value) bool {
		inner := name // of an element
		if v.IsObject() {
			inner = key.String()
		}
		FileIDs(inner, value, found)
		return true
	})
}
