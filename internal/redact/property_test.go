package redact_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/internal/redact"
)

var everything = redact.Rules{
	Builtin: redact.Names(),
	Custom:  []redact.Custom{{Name: "ticket", Pattern: `\bT-\d{1,4}`}, {Name: "word", Pattern: `(?i)raven`}},
}

// pieces lists building blocks of texts: matches, near misses and characters that need JSON escapes.
var pieces = []string{
	"ann@example.com", "T-17", "RAVEN", "4111 1111 1111 1111", "+49 30 901820", "10.0.0.1", "sk-abcdefghijklmnopqrstuv", "T-", "@", "a", " ",
	"\n", "\"", "\\", "é", "😀", "\u2028", "0", "-", ".", ":", "/", "\x00", "bearer ",
}

func texts(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
}

// values draws a JSON value with at most depth levels.
func values(t *rapid.T, depth int) any {
	kinds := 3
	if depth > 0 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return texts(t)
	case 1:
		return rapid.Float64Range(-1e15, 1e15).Draw(t, "number")
	case 2:
		return rapid.Bool().Draw(t, "bool")
	case 3:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, values(t, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		object[texts(t)] = values(t, depth-1)
	}
	return object
}

// Redacting a document equals redacting each of its strings separately.
func TestDocumentsAreRedactedTextByText(t *testing.T) {
	t.Parallel()
	x := redactor(t, everything)
	rapid.Check(t, func(t *rapid.T) {
		value := values(t, 3)
		body, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		got := x.Begin(nil).JSON(body)
		var read any
		if err := json.Unmarshal(got, &read); err != nil {
			t.Fatalf("redacted %s to invalid JSON %s: %v", body, got, err)
		}
		want, err := json.Marshal(each(value, x.Begin(nil).Text))
		if err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(read); err != nil || !bytes.Equal(again, want) {
			t.Fatalf("redact %s:\ngot  %s\nwant %s", body, again, want)
		}
	})
}

// each changes the strings of a value, but not the member names.
func each(value any, change func(string) string) any {
	switch v := value.(type) {
	case string:
		return change(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = each(v[i], change)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, member := range v {
			object[name] = each(member, change)
		}
		return object
	}
	return value
}

var mark = regexp.MustCompile(`\[redacted: [^\]]*\]`)

// Matches are removed, and the other text stays in the same order.
func TestMatchesAreRemovedAndOtherTextIsKept(t *testing.T) {
	t.Parallel()
	x := redactor(t, everything)
	patterns := []*regexp.Regexp{regexp.MustCompile(everything.Custom[0].Pattern), regexp.MustCompile(everything.Custom[1].Pattern)}
	rapid.Check(t, func(t *rapid.T) {
		text := texts(t)
		pass := x.Begin(nil)
		got := pass.Text(text)
		kept := mark.Split(got, -1)
		marks := 0
		for _, n := range pass.Counts() {
			marks += n
		}
		if marks != len(kept)-1 {
			t.Fatalf("redacted %q to %q, which does not match the counts %v", text, got, pass.Counts())
		}
		rest := text
		for _, piece := range kept {
			i := strings.Index(rest, piece)
			if i < 0 {
				t.Fatalf("redacted %q to %q, but %q is not in the original", text, got, piece)
			}
			rest = rest[i+len(piece):]
		}
		if found := patterns[1].FindString(got); found != "" {
			t.Fatalf("redacted %q to %q, which contains the match %q", text, got, found)
		}
		if n := len(patterns[0].FindAllString(text, -1)); n > 0 && marks == 0 {
			t.Fatalf("redacted %q to %q, want a mark for each match", text, got)
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":"ann@example.com","b":["T-1\u0041\\","\ud83d\ude00"]}`))
	f.Add([]byte(`"\u0054-1"`))
	f.Add([]byte("{\"a\" :\"\xff T-1\"} "))
	f.Add([]byte(`{"k":"-----BEGIN PRIVATE KEY-----"}`))
	f.Add([]byte(`["DE89 3704 0044 0532 0130 00","fe80::1","Bearer aaaaaaaaaaaaaaaaaaaa","x://a:b@c"]`))
	x := redactor(f, everything)
	ticket := regexp.MustCompile(everything.Custom[1].Pattern)
	f.Fuzz(func(t *testing.T, body []byte) {
		input := bytes.Clone(body)
		got := x.Begin(nil).JSON(body)
		if !bytes.Equal(input, body) {
			t.Fatal("JSON changed its input")
		}
		if !json.Valid(body) {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("redacted %q to invalid JSON %q", body, got)
		}
		var before, after any
		if json.Unmarshal(body, &before) != nil || json.Unmarshal(got, &after) != nil {
			t.Fatal("the documents cannot be decoded")
		}
		compare(t, before, after, ticket)
	})
}

// compare fails if anything other than a string differs, or if a string still matches the pattern.
func compare(t *testing.T, before, after any, pattern *regexp.Regexp) {
	t.Helper()
	switch v := before.(type) {
	case string:
		text, ok := after.(string)
		if !ok || (text != v && !strings.Contains(text, "[redacted: ")) {
			t.Fatalf("string %q was redacted to %v", v, after)
		}
		if len(v) < 500 && !strings.HasPrefix(v, "data:") && pattern.MatchString(text) {
			t.Fatalf("string %q was redacted to %q, which still matches", v, text)
		}
	case []any:
		list, ok := after.([]any)
		if !ok || len(list) != len(v) {
			t.Fatalf("list %v was redacted to %v", v, after)
		}
		for i := range v {
			compare(t, v[i], list[i], pattern)
		}
	case map[string]any:
		object, ok := after.(map[string]any)
		if !ok || len(object) != len(v) {
			t.Fatalf("object %v was redacted to %v", v, after)
		}
		for name := range v {
			compare(t, v[name], object[name], pattern)
		}
	default:
		if before != after {
			t.Fatalf("value %v was redacted to %v", before, after)
		}
	}
}

func BenchmarkJSON(b *testing.B) {
	text := strings.Repeat("The quick brown fox, aged 42, jumps over 17 lazy dogs at 10:30 (see example.org/a/b). ", 100)
	body, err := json.Marshal(map[string]any{"messages": []any{map[string]any{"role": "user", "content": text + "ann@example.com"}}})
	if err != nil {
		b.Fatal(err)
	}
	x := redactor(b, redact.Rules{Builtin: redact.Names()})
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		x.Begin(nil).JSON(body)
	}
}
