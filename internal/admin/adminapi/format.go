package adminapi

import (
	"io"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// jsonFormat returns a JSON format that rejects unknown and repeated fields.
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

// writeOptions returns the encoding options of responses. Empty lists are encoded as [], not as null.
func writeOptions() json.Options {
	return json.JoinOptions(
		jsonv1.DefaultOptionsV1(), // interpret struct tags like encoding/json
		json.FormatNilSliceAsNull(false),
		json.FormatNilMapAsNull(false),
		jsontext.EscapeForHTML(false),
		jsontext.EscapeForJS(false),
	)
}

// Encode encodes v like a response. Empty lists are [], not null.
func Encode(v any) ([]byte, error) { return json.Marshal(v, writeOptions()) }
