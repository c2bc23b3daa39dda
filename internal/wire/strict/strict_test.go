package strict

import (
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// malformed holds bodies that are not one JSON object within the limits.
var malformed = map[string]struct {
	body  string
	kind  llm.Kind
	param string
	says  string
}{
	"nothing":               {"", llm.InvalidJSON, "", "empty"},
	"a list":                {"[1]", llm.InvalidRequest, "", "must be a JSON object"},
	"an empty body":         {" ", llm.InvalidJSON, "", "the body is empty"},
	"zero bytes":            {"\x00\x00", llm.InvalidJSON, "", "a value is expected at byte 0"},
	"plain text":            {"hello", llm.InvalidJSON, "", "not valid JSON"},
	"a truncated object":    {`{"a":`, llm.InvalidJSON, "", "not valid JSON"},
	"a second document":     {`{} {}`, llm.InvalidJSON, "", "data after"},
	"a repeated key":        {`{"a":1,"a":2}`, llm.InvalidRequest, "a", "appears twice"},
	"a repeated nested key": {`{"x":[{"a":1,"\u0061":2}]}`, llm.InvalidRequest, "a", "appears twice"},
	"invalid UTF-8":         {"{\"a\":\"\xff\"}", llm.InvalidJSON, "", "UTF-8"},
	"a byte order mark":     {"\xef\xbb\xbf{}", llm.InvalidJSON, "", "byte order mark"},
	"too many levels":       {strings.Repeat(`{"a":`, rawjson.MaxDepth+1), llm.InvalidRequest, "a", "more than 512 levels"},
	"too many keys":         {`{"b":[` + strings.Repeat(`{"a":"]:,"},`, rawjson.MaxKeys) + `1]}`, llm.InvalidRequest, "b", "more than 250000 keys in all objects"},
	"too many elements":     {`{"b":1,"c":[` + strings.Repeat(`"\\","\"[",`, MaxElements/2) + `1]}`, llm.InvalidRequest, "c", "more than 500000 elements"},
	"too many empty lists":  {`{"b":1,"c":[[]` + strings.Repeat(`,[]`, MaxElements/2) + `]}`, llm.InvalidRequest, "c", "more than 500000 elements"},
	"a wide object":         {`{"w":{` + wide(rawjson.MaxObjectKeys+1) + `}}`, llm.InvalidRequest, "w", "more than 10000 keys in one object"},
}

func TestObjectRejectsMalformedBodies(t *testing.T) {
	t.Parallel()
	for name, tc := range malformed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Object(t.Context(), []byte(tc.body))
			e := llm.AsError(err)
			if err == nil || e.Kind != tc.kind || e.Param != tc.param || !strings.Contains(e.Message, tc.says) || e.Details["problems"] == nil {
				t.Errorf("Object: %+v, want %s for %q with %q", e, tc.kind, tc.param, tc.says)
			}
		})
	}
}

// wide returns the members of an object with n keys, without the braces.
func wide(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":1`, i)
	}
	return b.String()[1:]
}

func TestObjectAcceptsDocumentsUpToTheLimits(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"levels":        strings.Repeat(`{"a":`, rawjson.MaxDepth) + "1" + strings.Repeat(`}`, rawjson.MaxDepth),
		"keys":          `{"b":[` + strings.Repeat(`{"a":1},`, rawjson.MaxKeys-2) + `{"a":1}]}`,
		"elements":      `{"c":[` + strings.Repeat(`1,`, MaxElements-1) + `1]}`,
		"a wide object": `{` + wide(rawjson.MaxObjectKeys) + `}`,
	} {
		if _, err := Object(t.Context(), []byte(body)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestResponseWithTooManyPartsIsRejected(t *testing.T) {
	t.Parallel()
	list := func(n int) []byte { return []byte("[" + strings.Repeat("1,", n-1) + "1]") }
	tests := map[string]struct {
		body    []byte
		vectors int
		want    string
	}{
		"at the limit":              {list(MaxResponseParts), 0, ""},
		"above the limit":           {list(MaxResponseParts + 1), 0, "The provider's response has more than 100000 keys, list elements or objects."},
		"embeddings":                {list(MaxResponseParts + 1), 1, ""},
		"objects beside embeddings": {[]byte("[" + strings.Repeat("{},", 1008) + "{}]"), 1, "The provider's response has more than 1008 keys, list elements or objects."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := CheckResponse(tt.body, tt.vectors); err != nil {
				got = llm.AsError(err).Message
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzObject(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[{}]}`))
	f.Add([]byte(`{"a":`))
	f.Fuzz(func(t *testing.T, body []byte) {
		fields, err := Object(t.Context(), body)
		if err != nil {
			return
		}
		for _, field := range fields {
			if field.KeyStart >= field.Value || field.Value >= field.End || body[field.KeyStart] != '"' {
				t.Fatalf("field %+v is not part of %q", field, body)
			}
		}
	})
}

func TestLookAlikesAreFound(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{
		"Model": true, "model\x00": true, "model\x00x": true, "model[]": true, "model[0]": true, " model": true, "model\t": true, "\ufeffmodel": true, "mo\u200bdel": false,
		"me\u017f\u017fages": true, "model": false, "models": false, "model_x": false, "x model": false, "mod": false,
	} {
		if _, got := LookAlike("", key, "model", "messages"); got != want {
			t.Errorf("LookAlike(%q) = %t, want %t", key, got, want)
		}
	}
}
