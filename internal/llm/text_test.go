package llm

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTextCountsClasses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[Class]int32{
		"":                 {},
		"Hello World":      {Words: 2, Letters: 10, Capitals: 2},
		"readBodyOf":       {Words: 1, Letters: 10, LongParts: 4, Capitals: 2, Humps: 2},
		"a1 12345":         {Words: 1, Letters: 1, Numbers: 2, Digits: 6, Triples: 3, Joints: 1},
		"a\n\n\tb  c":      {Words: 3, Letters: 3, Newlines: 1, Blanks: 2},
		"x == {};":         {Words: 1, Letters: 1, Signs: 5, SignRuns: 2, SignTurns: 2},
		"für":              {Words: 2, Letters: 2, Latin: 1},
		"два слова":        {Cyrillic: 8, OtherWords: 2},
		"λόγος שלום مرحبا": {Greek: 5, Hebrew: 4, Arabic: 5, OtherWords: 3},
		"हिन्दी বাংলা":     {Devanagari: 6, Indic: 5, OtherWords: 2},
		"ภาษา":             {Thai: 4},
		"日本語のテスト。":         {Han: 3, Kana: 4, Symbols: 1},
		"한국어 “x” 🙂":        {Hangul: 3, Words: 1, Letters: 1, Symbols: 2, Emoji: 1},
	} {
		var got Text
		got.Add(text)
		expected := Text{}
		for class, n := range want {
			expected.Counts[class] = n
		}
		if diff := cmp.Diff(expected, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// The counts of a sampled text must be close to the counts of the whole text.
func TestLongTextsAreSampledInBlocks(t *testing.T) {
	t.Parallel()
	line := "The harbour master asked 3 times why the line (12 mm) chafed; wir wissen es nicht. Это не важно.\n"
	long := strings.Repeat(line, 2000)
	var part, whole Text
	part.Add(long)
	whole.measure(long, false)
	near(t, whole, part, 100, 0.06)
}

// near checks that the counts differ by at most the given relative error. It ignores classes that occur fewer than minimum times.
func near(t *testing.T, want, got Text, minimum int32, within float64) {
	t.Helper()
	for class, n := range want.Counts {
		if off := float64(got.Counts[class]-n) / float64(max(1, n)); n >= minimum && (off > within || off < -within) {
			t.Errorf("class %d: %d, want about %d", class, got.Counts[class], n)
		}
	}
}

func TestCountTextCountsAllOfAShortPrompt(t *testing.T) {
	t.Parallel()
	texts := []string{"Say \"hi\" to é,\n\tplease\\now", "日本語 🙂", ""}
	var want Text
	for _, s := range texts {
		want.Add(s)
	}
	var req Request
	req.CountText(texts...)
	if diff := cmp.Diff(want, req.Text); diff != "" {
		t.Error(diff)
	}
}

func TestCountTextSamplesALongPrompt(t *testing.T) {
	t.Parallel()
	prose := strings.Repeat("The harbour master asked why the line chafed. ", 3)
	code := strings.Repeat("if err := readBody(x[12]); err != nil {\n\treturn err\n}\n", 4)
	var want Text
	var texts []string
	for range 700 {
		for _, s := range []string{prose, code, "ключ и слово"} {
			want.measure(s, false)
			texts = append(texts, s)
		}
	}
	var req Request
	req.CountText(texts...)
	near(t, want, req.Text, 10_000, 0.25)
}

// Counts are never negative or larger than the text.
func TestCountsArePlausibleForAnyInput(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var req Request
		req.CountText(rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("ab1 .\\\"u0nй日🙂")), 0, 900, -1), 0, 200).Draw(t, "texts")...)
		for class, n := range req.Text.Counts {
			if all := req.ASCIIBytes + req.NonASCIIBytes; n < 0 || int(n) > all+1 {
				t.Fatalf("class %d has %d of %d bytes", class, n, all)
			}
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("plain", []byte(`a\u00e9\n`))
	f.Fuzz(func(t *testing.T, s string, raw []byte) {
		var text Text
		text.Add(s)
		for class, n := range text.Counts {
			if n < 0 || int(n) > len(s)*2 {
				t.Errorf("class %d has %d of %d bytes", class, n, len(s))
			}
		}
		var req Request
		req.CountJSON(raw)
	})
}

func BenchmarkCountText(b *testing.B) {
	text := strings.Repeat("The harbour master asked why the line chafed.\nWe moved it through the \"other\" lead, and it held: ", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var req Request
		req.CountText(text)
	}
}

func BenchmarkTextAdd(b *testing.B) {
	text := strings.Repeat("The harbour master asked why the line chafed.\nWe moved it. ", 130)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var t Text
		t.Add(text)
	}
}

func BenchmarkUnescape(b *testing.B) {
	quoted, err := json.Marshal(strings.Repeat("The quick brown fox, aged 42,\n jumps over 17 lazy \"dogs\" at 10:30 é ☕ (see example.org/a/b). ", 100))
	if err != nil {
		b.Fatal(err)
	}
	raw := quoted[1 : len(quoted)-1]
	for name, decode := range map[string]func() string{
		"unescape": func() string { return string(unescape(make([]byte, 0, len(raw)), raw)) },
		"encoding json": func() (text string) {
			if err := json.Unmarshal(quoted, &text); err != nil {
				b.Fatal(err)
			}
			return text
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				decode()
			}
		})
	}
}
