package rawjson_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/rawjson"
)

const document = ` {"model":"m","n":2,"f":-1.5e2,"yes":true,"no":false,"nil":null,"a.b":1,
	"list":[1,"two",{"three":3},[]],"tools":[{"name":"x"},{"id":1},{"name":"y\n"}],
	"na\u006de":"A\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00","text":"} ] , \" : {","empty":{},"twice":1,"twice":2}`

func TestGetFollowsPaths(t *testing.T) {
	t.Parallel()
	type found struct {
		Kind rawjson.Kind
		Raw  string
	}
	for path, want := range map[string]found{
		"model":         {rawjson.Text, `"m"`},
		"n":             {rawjson.Number, "2"},
		"f":             {rawjson.Number, "-1.5e2"},
		"yes":           {rawjson.True, "true"},
		"no":            {rawjson.False, "false"},
		"nil":           {rawjson.Null, "null"},
		"list.0":        {rawjson.Number, "1"},
		"list.1":        {rawjson.Text, `"two"`},
		"list.2.three":  {rawjson.Number, "3"},
		"list.3":        {rawjson.List, "[]"},
		"tools.#.name":  {rawjson.List, `["x","y\n"]`},
		"tools.1.id":    {rawjson.Number, "1"},
		"name":          {rawjson.Text, `"A\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`},
		"text":          {rawjson.Text, `"} ] , \" : {"`},
		"empty":         {rawjson.Object, "{}"},
		"twice":         {rawjson.Number, "1"},
		"list.4":        {},
		"list.x":        {},
		"list.01":       {},
		"model.x":       {},
		"missing":       {},
		"missing.x":     {},
		"nil.x":         {},
		"empty.x":       {},
		"a.b":           {},
		"list.-1":       {},
		"tools.#.other": {rawjson.List, "[]"},
	} {
		v := rawjson.Get([]byte(document), path)
		if diff := cmp.Diff(want, found{v.Kind, v.Raw}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		if exists := want.Raw != ""; v.Exists() != exists {
			t.Errorf("%s: Exists = %t, want %t", path, v.Exists(), exists)
		}
		if !strings.Contains(path, "#") && v.Exists() && document[v.Index:v.Index+len(v.Raw)] != v.Raw && !strings.Contains(path, ".") {
			t.Errorf("%s: Index = %d, which is not the position of %s", path, v.Index, v.Raw)
		}
	}
	if got := rawjson.Get([]byte(document), ""); got.Raw != document[1:] {
		t.Errorf("Get with an empty path = %q, want the document", got.Raw)
	}
}

func TestValueConversions(t *testing.T) {
	t.Parallel()
	type converted struct {
		String                string
		Float                 float64
		Int                   int64
		Bool, IsBool          bool
		IsList, IsObject, Any bool
	}
	for text, want := range map[string]converted{
		`"A\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`: {String: "A\"\\/\b\f\n\r\té😀", Any: true},
		`"\ud83d"`:                              {String: "\uFFFD", Any: true},
		`"\ud83dx"`:                             {String: "\uFFFDx", Any: true},
		`""`:                                    {Any: true},
		`null`:                                  {Any: true},
		`true`:                                  {String: "true", Bool: true, IsBool: true, Any: true},
		`false`:                                 {String: "false", IsBool: true, Any: true},
		`10.0`:                                  {String: "10.0", Float: 10, Int: 10, Any: true},
		`1e1`:                                   {String: "1e1", Float: 10, Int: 10, Any: true},
		`1.5`:                                   {String: "1.5", Float: 1.5, Any: true},
		`-9007199254740993`:                     {String: "-9007199254740993", Float: -9007199254740992, Int: -9007199254740993, Any: true},
		`1e999`:                                 {String: "1e999", Float: math.Inf(1), Any: true},
		`[1, 2]`:                                {String: "[1, 2]", IsList: true, Any: true},
		`{"a":1}`:                               {String: `{"a":1}`, IsObject: true, Any: true},
		``:                                      {},
		`nul`:                                   {},
	} {
		v := rawjson.ParseString(text)
		got := converted{v.String(), v.Float(), v.Int(), v.Bool(), v.IsBool(), v.IsList(), v.IsObject(), v.Exists()}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestForEachKeepsOrderAndStops(t *testing.T) {
	t.Parallel()
	var keys []string
	rawjson.ParseString(`{"b":1, "a" : 2 ,"\u0063":[3],"d":4}`).ForEach(func(key, value rawjson.Value) bool {
		keys = append(keys, key.String()+"="+value.Raw)
		return key.String() != "c"
	})
	if diff := cmp.Diff([]string{"b=1", "a=2", "c=[3]"}, keys); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if list := rawjson.ParseString(`{"a":1}`).List(); list != nil {
		t.Errorf("List of an object = %v, want nil", list)
	}
}

func TestLookupsFindNothingInMalformedInput(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"a"`, `{"a":`, `{"a" 1}`, `{a:1}`, `{1:1}`, `{"b":1`, `["a"`, `"a`, `{"a\":1}`, `{"b":}`, `{"x":tru,"a":1}`, `{,"a":1}`, `}`, `]`, "\x00",
	} {
		if v := rawjson.Get([]byte(text), "a"); v.Exists() {
			t.Errorf("Get(%q, a) = %q, want no value", text, v.Raw)
		}
	}
}

func TestValidLimitsDepth(t *testing.T) {
	t.Parallel()
	nested := func(depth int) []byte { return []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth)) }
	if !rawjson.Valid(nested(rawjson.MaxDepth)) {
		t.Error("a document of the maximum depth was rejected")
	}
	if rawjson.Valid(nested(rawjson.MaxDepth + 1)) {
		t.Error("a document above the maximum depth was accepted")
	}
}

func FuzzAgainstEncodingJSON(f *testing.F) {
	for _, seed := range []string{
		document, `{}`, `[]`, `"x"`, `0`, `-0.0e+1`, `01`, `1.`, `{"a":1,}`, `[1,]`, `"\x"`, `"\u12"`, "\"\n\"", `tru`, `null x`, `{"a":{"b":[{"c":"d"}]}}`, ` `, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		valid := rawjson.Valid(data)
		if _, _, over := rawjson.Measure(data, false); over == nil && valid != json.Valid(data) {
			t.Fatalf("Valid = %t, json.Valid = %t", valid, json.Valid(data))
		}
		v := rawjson.Parse(data) // must not panic on any input
		v.ForEach(func(key, value rawjson.Value) bool { return key.String() == "" || value.Raw != "" })
		if !valid {
			return
		}
		var members map[string]json.RawMessage
		var elements []json.RawMessage
		var text *string
		switch {
		case v.IsObject() && json.Unmarshal(data, &members) == nil:
			seen := map[string]string{}
			v.ForEach(func(key, value rawjson.Value) bool {
				seen[strings.ToValidUTF8(key.String(), "\uFFFD")] = value.Raw
				return true
			})
			if len(seen) > len(members) {
				t.Fatalf("%d members, encoding/json has %d", len(seen), len(members))
			}
			for name, raw := range members {
				if got, ok := seen[name]; ok && got != string(raw) {
					t.Fatalf("member %q is %q, encoding/json has %q", name, got, raw)
				}
			}
		case v.IsList() && json.Unmarshal(data, &elements) == nil:
			list := v.List()
			if len(list) != len(elements) {
				t.Fatalf("%d elements, encoding/json has %d", len(list), len(elements))
			}
			for i, raw := range elements {
				if list[i].Raw != string(raw) {
					t.Fatalf("element %d is %q, encoding/json has %q", i, list[i].Raw, raw)
				}
			}
		case v.Kind == rawjson.Text && json.Unmarshal(data, &text) == nil && !strings.Contains(*text, "\uFFFD"):
			if v.String() != *text {
				t.Fatalf("String = %q, encoding/json has %q", v.String(), *text)
			}
		}
	})
}
