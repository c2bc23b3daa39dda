package redact_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/internal/redact"
)

const credential = "sk-se/cret+0123456789"

// escapes lists the ways to encode a character inside a JSON string.
var escapes = map[string]func(c byte) string{
	"plain":      func(c byte) string { return string(c) },
	"unicode":    func(c byte) string { return fmt.Sprintf(`\u%04x`, c) },
	"upper case": func(c byte) string { return fmt.Sprintf(`\u%04X`, c) },
	"slashes":    func(c byte) string { return strings.ReplaceAll(string(c), "/", `\/`) },
	"first only": func(c byte) string {
		if c == credential[0] {
			return fmt.Sprintf(`\u%04x`, c)
		}
		return string(c)
	},
	"inner unicode": func(c byte) string { return fmt.Sprintf(`\\u%04x`, c) },
	"inner slashes": func(c byte) string { return strings.ReplaceAll(string(c), "/", `\\/`) },
	"both":          func(c byte) string { return fmt.Sprintf(`\u005cu%04x`, c) },
}

func written(secret string, escape func(byte) string) []string {
	var out []string
	for i := range len(secret) {
		out = append(out, escape(secret[i]))
	}
	return out
}

// decoded returns the content of a JSON string, decoded once and twice.
func decoded(t *testing.T, content string) (once, twice string) {
	t.Helper()
	if err := json.Unmarshal([]byte(`"`+content+`"`), &once); err != nil {
		t.Fatalf("decode %q: %v", content, err)
	}
	if json.Unmarshal([]byte(`"`+once+`"`), &twice) != nil {
		twice = once
	}
	return once, twice
}

func checkAbsent(t *testing.T, content string) {
	t.Helper()
	once, twice := decoded(t, content)
	if strings.Contains(once, credential) || strings.Contains(twice, credential) {
		t.Errorf("the output contains the credential: %q", content)
	}
}

func TestCredentialsAreMaskedInEveryEscape(t *testing.T) {
	t.Parallel()
	for name, escape := range escapes {
		text := strings.Join(written(credential, escape), "")
		for _, document := range []string{`{"error":"key ` + text + ` is wrong"}`, `{"` + text + `":1}`, text} {
			got := redact.Credentials([]byte(document), "other-secret", credential)
			want := strings.Replace(document, text, strings.Repeat("*", len(text)), 1)
			if string(got) != want {
				t.Errorf("%s: Credentials(%s) = %s, want %s", name, document, got, want)
			}
			if out, _ := relay(redact.NewMasker(credential), []string{document}); out[0] != want && document != text {
				t.Errorf("%s: masked stream of %s = %s, want %s", name, document, out[0], want)
			}
		}
	}
}

func TestCredentialsKeepsOtherText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}", `{"a":"sk-se/cret+012345678"}`, `"\`, `"\u00`, `"\ud83d\ude00"`, "sk-sk-se", `"` + strings.Repeat("s", 5000)} {
		data := []byte(text)
		if got := redact.Credentials(data, credential, "short"); string(got) != text {
			t.Errorf("Credentials(%q) = %q, want it unchanged", text, got)
		}
	}
	if redact.NewMasker("", "1234567") != nil {
		t.Error("NewMasker with credentials that are too short is not nil")
	}
}

// relay sends documents through a masker like a stream. It returns the output and the maximum number of documents
// released together.
func relay(m *redact.Masker, documents []string) (out []string, most int) {
	take := func() {
		docs := m.Take()
		most = max(most, len(docs))
		for _, d := range docs {
			out = append(out, string(d.Data))
		}
	}
	for _, text := range documents {
		if !m.Scan(redact.Document{Data: []byte(text)}) {
			take()
		}
	}
	take()
	return out, most
}

func chunk(index int, member, content string) string {
	return fmt.Sprintf(`{"id":"c","model":"m","choices":[{"index":%d,"delta":{"role":"assistant","%s":"%s"},"finish_reason":null}]}`, index, member, content)
}

// joined returns the concatenated contents of one member of one choice.
func joined(t *testing.T, documents []string, index int, member string) string {
	t.Helper()
	var all strings.Builder
	for _, text := range documents {
		var c struct {
			Choices []struct {
				Index int
				Delta map[string]json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if c.Choices[0].Index == index {
			all.Write(bytes.Trim(c.Choices[0].Delta[member], `"`))
		}
	}
	return all.String()
}

func TestMaskerMasksCredentialsSplitOverDocuments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		escape := escapes[rapid.SampledFrom([]string{"plain", "unicode", "upper case", "slashes", "first only", "inner slashes"}).Draw(r, "escape")]
		member := rapid.SampledFrom([]string{"content", "reasoning_content"}).Draw(r, "member")
		units := append([]string{"key", " "}, written(credential, escape)...)
		units = append(units, "!")
		var documents []string
		for len(units) > 0 {
			n := rapid.IntRange(0, min(len(units), 6)).Draw(r, "units")
			documents = append(documents, chunk(0, member, strings.Join(units[:n], "")))
			units = units[n:]
			if rapid.Bool().Draw(r, "interleaved") {
				documents = append(documents, chunk(1, member, "sk-ordinary"), chunk(0, "refusal", "text"))
			}
		}
		out, _ := relay(redact.NewMasker(credential), documents)
		if len(out) != len(documents) {
			t.Fatalf("%d of %d documents were released", len(out), len(documents))
		}
		checkAbsent(t, joined(t, out, 0, member))
	})
}

// The inner text of tool arguments may be split within an escape sequence; the outer text cannot.
func TestMaskerMasksSplitEscapesOfArguments(t *testing.T) {
	t.Parallel()
	text := strings.Join(written(credential, func(c byte) string { return fmt.Sprintf(`\\u%04x`, c) }), "")
	for size := 2; size < 20; size++ {
		var documents []string
		for i := 0; i < len(text); {
			n := min(size, len(text)-i)
			if strings.HasSuffix(text[i:i+n], `\`) && !strings.HasSuffix(text[i:i+n], `\\`) {
				n++
			}
			documents = append(documents, chunk(0, "arguments", text[i:i+n]))
			i += n
		}
		out, _ := relay(redact.NewMasker(credential), documents)
		checkAbsent(t, joined(t, out, 0, "arguments"))
	}
}

func TestMaskerReleasesOrdinaryTextImmediately(t *testing.T) {
	t.Parallel()
	documents := []string{chunk(0, "content", "tasks"), chunk(0, "content", "sk"), chunk(0, "content", "s"), chunk(0, "content", " sk-"), chunk(0, "content", "x")}
	out, most := relay(redact.NewMasker(credential), documents)
	if most != 1 || strings.Join(out, "") != strings.Join(documents, "") {
		t.Errorf("released up to %d documents together, want 1; output %s", most, out)
	}
}

// An unfinished match is released, masked, after a bounded number of bytes.
func TestMaskerBoundsHeldText(t *testing.T) {
	t.Parallel()
	m := redact.NewMasker(credential)
	if !m.Scan(redact.Document{Data: []byte(chunk(0, "content", "key "+credential[:10]))}) {
		t.Fatal("Scan = false for the beginning of a credential, want it held")
	}
	other := redact.Document{Data: []byte(chunk(1, "content", strings.Repeat("word ", 1000)))}
	for n := 0; m.Scan(other); n++ {
		if n > 100 {
			t.Fatal("more than 100 documents were held")
		}
	}
	if first := m.Take()[0].Data; bytes.Contains(first, []byte(credential[:10])) {
		t.Errorf("the beginning of a credential was released unmasked: %s", first)
	}
	if m.Scan(other) {
		t.Error("the released beginning still holds later documents")
	}
}

func FuzzMasker(f *testing.F) {
	f.Add([]byte(`{"a":"sk-`), []byte(`{"a":"se\/cret\u002b0123456789"}`))
	f.Add([]byte(`"a":"\\`), []byte(`"a":"u0073`))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		out, _ := relay(redact.NewMasker(credential), []string{string(one), string(two)})
		if len(out) != 2 || len(out[0]) != len(one) || len(out[1]) != len(two) {
			t.Fatalf("%q and %q were masked as %q, want the same lengths", one, two, out)
		}
		for _, text := range out {
			if strings.Contains(text, credential) {
				t.Fatalf("the output contains the credential: %q", text)
			}
		}
	})
}

func BenchmarkMasker(b *testing.B) {
	event := []byte(chunk(0, "content", "Aye, sails. "))
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	m := redact.NewMasker("sk-proj-" + strings.Repeat("a1B2", 30))
	for b.Loop() {
		m.Scan(redact.Document{Data: event})
		m.Take()
	}
}
