package rawjson

import "testing"

func TestAppendMemberAddsToObjectsOnly(t *testing.T) {
	t.Parallel()
	for object, want := range map[string]string{
		`{}`:               `{"x":[1]}`,
		"{ }\n":            `{"x":[1]}`,
		`{"a":1}`:          `{"a":1,"x":[1]}`,
		`{ "a":1 }`:        `{ "a":1,"x":[1]}`,
		"{\"a\":{}\n}\n":   `{"a":{},"x":[1]}`,
		" {\"a\":[] }\r\n": ` {"a":[],"x":[1]}`,
		`[]`:               `[]`,
		`[1]`:              `[1]`,
		`null`:             `null`,
		`{`:                `{`,
		``:                 ``,
	} {
		if got := string(AppendMember([]byte(object), "x", []byte(`[1]`))); got != want {
			t.Errorf("AppendMember(%q) = %q, want %q", object, got, want)
		}
	}
}
