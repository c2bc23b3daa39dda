package api

import (
	"io"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// jsonFormat reads strictly, so that a repeated or misspelt field is refused and not half obeyed.
func jsonFormat() huma.Format {
	read, write := json.RejectUnknownMembers(true), writeOptions()
	return huma.Format{
		Marshal: func(w io.Writer, v any) error {
			if encoded, ok := v.(errorBody); ok {
				_, err := w.Write(encoded)
				return err
			}
			return json.MarshalWrite(w, v, write)
		},
		Unmarshal: func(data []byte, v any) error { return json.Unmarshal(data, v, read) },
	}
}

// writeOptions never write null for an empty list.
func writeOptions() json.Options {
	return json.JoinOptions(
		jsonv1.DefaultOptionsV1(), // the types below carry tags with the meaning that encoding/json gives them
		json.FormatNilSliceAsNull(false),
		json.FormatNilMapAsNull(false),
		jsontext.EscapeForHTML(false),
		jsontext.EscapeForJS(false),
	)
}

// Encode writes v as the API does: no null in place of an empty list.
func Encode(v any) ([]byte, error) { return json.Marshal(v, writeOptions()) }
