package rawjson_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/rawjson"
)

func TestScannerReadsMembersAndElements(t *testing.T) {
	t.Parallel()
	s := rawjson.NewStrict(t.Context(), []byte(` {"a": [1, {"x":true}], "\u0062":"t\n", "skipped":{"y":[null]}, "n":null, "c":-2.5 } `))
	defer s.Release()
	var got []string
	s.Kind() // skips the space before the object
	for key := range s.Members {
		switch string(key) {
		case "a":
			for n := range s.Elements {
				got = append(got, fmt.Sprintf("a.%d=%s", n, s.Raw()))
			}
		case "b":
			text := s.ReadString()
			got = append(got, fmt.Sprintf("b=%q escaped=%t ascii=%d", s.Unquote(text), text.Escaped, text.ASCII))
		case "n":
			got = append(got, fmt.Sprintf("n=%v", s.RawOrNil()))
		case "c":
			got = append(got, "c="+string(s.Number()))
		}
	}
	s.End()
	if s.Err != nil {
		t.Fatal(s.Err)
	}
	want := []string{"a.0=1", `a.1={"x":true}`, `b="t\n" escaped=true ascii=2`, "n=[]", "c=-2.5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestScannerRejectsInvalidInput(t *testing.T) {
	t.Parallel()
	manyKeys := func(last string) string {
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, `"k%d":1,`, i)
		}
		return "{" + b.String() + `"` + last + `":1}`
	}
	for text, want := range map[string]string{
		``:                           "the JSON ends unexpectedly at byte 0",
		`{"a":1`:                     "the JSON ends unexpectedly at byte 6",
		`{"a" 1}`:                    "a colon is expected at byte 5",
		`{a:1}`:                      "a key in double quotes is expected at byte 1",
		`{"a":1,}`:                   "a key in double quotes is expected at byte 7",
		`[1,]`:                       "a value is expected at byte 3",
		`[1 2]`:                      "a comma is expected at byte 3",
		`"a`:                         "a string is not closed at byte 2",
		`"\x"`:                       "an escape sequence is invalid at byte 1",
		`"\u12g4"`:                   "an escape sequence is invalid at byte 1",
		"\"\n\"":                     "a string contains an unescaped control character at byte 1",
		"\"a\xff\"":                  "the body is not valid UTF-8 at byte 2",
		`-`:                          "a digit is expected at byte 1",
		`1.e2`:                       "a digit is expected at byte 2",
		`01`:                         "there is data after the JSON document at byte 1",
		`{} {}`:                      "there is data after the JSON document at byte 3",
		`nil`:                        "a value is expected at byte 0",
		`{"a":1,"\u0061":2}`:         `the key "a" appears twice`,
		manyKeys("k7"):               `the key "k7" appears twice`,
		strings.Repeat(`[`, 513):     "more than 512 levels of nested lists and objects",
		strings.Repeat(`{"a":`, 513): "more than 512 levels of nested lists and objects",
	} {
		s := rawjson.NewStrict(t.Context(), []byte(text))
		s.Skip()
		s.End()
		if s.Err == nil || s.Err.Error() != want {
			t.Errorf("%.40q: error %v, want %q", text, s.Err, want)
		}
		s.Release()
	}
	for _, text := range []string{manyKeys("other"), `{"a":{"a":1},"b":{"a":1}}`, `[{"a":1},{"a":1}]`} {
		s := rawjson.NewStrict(t.Context(), []byte(text))
		s.Skip()
		s.End()
		if s.Err != nil {
			t.Errorf("%.40q: error %v, want none", text, s.Err)
		}
		s.Release()
	}
}

func TestLenientScannerAcceptsDuplicateKeysAndInvalidUTF8(t *testing.T) {
	t.Parallel()
	if !rawjson.Valid([]byte("{\"a\":1,\"a\":\"\xff\"}")) {
		t.Error("Valid = false for a duplicate key and invalid UTF-8")
	}
}

func TestScannerStopsWhenContextEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := rawjson.NewStrict(ctx, []byte("["+strings.Repeat("1,", rawjson.PollBytes)+"1]"))
	defer s.Release()
	s.Skip()
	if !errors.Is(s.Err, context.Canceled) {
		t.Errorf("error %v, want %v", s.Err, context.Canceled)
	}
	if s.Pos > rawjson.PollBytes+16 {
		t.Errorf("stopped at byte %d, want about %d", s.Pos, rawjson.PollBytes)
	}
}

func TestScannerCountsText(t *testing.T) {
	t.Parallel()
	s := rawjson.Scanner{Data: []byte(`{"key":["ab\n","é\u00e9","😀\ud83d\ude00"]}`)}
	for range s.Members {
		s.SkipCounted()
	}
	if s.Err != nil || s.ASCII != 3 || s.NonASCII != 12 {
		t.Errorf("%d ASCII and %d other bytes, %v; want 3 and 12", s.ASCII, s.NonASCII, s.Err)
	}
}

func TestMeasureCountsAndLimits(t *testing.T) {
	t.Parallel()
	size, _, over := rawjson.Measure([]byte(`{"a":[1,2,{"b":"x,y:{["}],"c":{}}`), true)
	if diff := cmp.Diff(rawjson.Size{Keys: 3, Elements: 3, Containers: 4}, size); diff != "" || over != nil {
		t.Errorf("%v (-want +got):\n%s", over, diff)
	}
	_, member, over := rawjson.Measure([]byte(`{"a":1,"deep":`+strings.Repeat("[", rawjson.MaxDepth)), false)
	if over == nil || string(member) != "deep" {
		t.Errorf("limit %v at %q, want an error at \"deep\"", over, member)
	}
	long := []byte("[" + strings.Repeat("1,", rawjson.MaxElements) + "1]")
	if _, _, over := rawjson.Measure(long, true); over == nil {
		t.Error("a list above the limit was accepted")
	}
	if _, _, over := rawjson.Measure(long, false); over != nil {
		t.Errorf("elements were counted although counting is disabled: %v", over)
	}
}

func TestWriterAddsCommas(t *testing.T) {
	t.Parallel()
	var w rawjson.Writer
	w.Open()
	w.Str("s", "a\"\\\n\x01é\xff")
	w.OptionalStr("empty", "")
	w.Int("n", -3)
	w.Bool("b", true)
	w.OpenList("list")
	w.Element([]byte("1"))
	w.Element([]byte(`"two"`))
	w.Open()
	w.Close()
	w.CloseList()
	w.Raw("raw", []byte(`{"x":null}`))
	w.Close()
	want := `{"s":"a\"\\\n\u0001é` + "\uFFFD" + `","n":-3,"b":true,"list":[1,"two",{}],"raw":{"x":null}}`
	if diff := cmp.Diff(want, string(w.Out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !json.Valid(w.Out) {
		t.Error("the document is invalid JSON")
	}
}

func TestAppendMember(t *testing.T) {
	t.Parallel()
	for object, want := range map[string]string{
		`{}`:               `{"m":1}`,
		" { \n} ":          ` {"m":1}`,
		`{"a":{"b":2}}`:    `{"a":{"b":2},"m":1}`,
		"{\"a\":\"x\" \n}": `{"a":"x","m":1}`,
		`[1]`:              `[1]`,
		`}`:                `}`,
		``:                 ``,
	} {
		if got := rawjson.AppendMember([]byte(object), "m", []byte("1")); string(got) != want {
			t.Errorf("AppendMember(%q) = %q, want %q", object, got, want)
		}
	}
}

func TestParseInteger(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"10": 10, "10.0": 10, "1e1": 10, "-2": -2, "9223372036854775807": 9223372036854775807} {
		if got, ok := rawjson.ParseInteger([]byte(text)); !ok || got != want {
			t.Errorf("ParseInteger(%s) = %d, %t; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "x", "1.5", "1e300", "NaN"} {
		if got, ok := rawjson.ParseInteger([]byte(text)); ok {
			t.Errorf("ParseInteger(%q) = %d, true; want false", text, got)
		}
	}
}
