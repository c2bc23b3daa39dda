package strict

import (
	"bytes"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// FileIDs yields the file IDs in a valid JSON value, in document order. File IDs are the values of file_id and file_ids at any depth.
func FileIDs(v []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		if bytes.Contains(v, []byte("file_id")) || bytes.Contains(v, []byte(`\u`)) { // most values name no file
			yieldFileIDs(jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)), false, yield)
		}
	}
}

// yieldFileIDs yields the file IDs in the next value. named is whether the value belongs to a member with file IDs. It returns false when
// yield does, and for invalid JSON.
func yieldFileIDs(dec *jsontext.Decoder, named bool, yield func(string) bool) bool {
	token, err := dec.ReadToken()
	if err != nil {
		return false
	}
	switch token.Kind() {
	case '"':
		return !named || yield(token.String())
	case '[', '{':
		for object := token.Kind() == '{'; dec.PeekKind() != ']' && dec.PeekKind() != '}'; {
			if object {
				if token, err = dec.ReadToken(); err != nil {
					return false
				}
				named = token.String() == "file_id" || token.String() == "file_ids"
			}
			if !yieldFileIDs(dec, named, yield) {
				return false
			}
		}
		_, err = dec.ReadToken()
		return err == nil
	default:
		return true
	}
}
