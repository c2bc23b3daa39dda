package fulltext

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "",
		"Hello, World!":                 "hello world",
		"snake_case user@example.com":   "snake case user example com",
		"ÄRGER über 3.5 GB":             "ärger über 3 5 gb",
		"東京タワー x":                       "東 京 タ ワ ー x",
		"bad\xffbyte":                   "bad byte",
		"a" + strings.Repeat("b", 64):   "",
		"ok " + strings.Repeat("é", 40): "ok",
		"नमस्ते":                        "नमस्ते",
	} {
		got, n := AppendWords(nil, []byte(text))
		if words := strings.Fields(want); strings.TrimSpace(string(got)) != want || n != len(words) {
			t.Errorf("%q has %d words %q, want %q", text, n, got, want)
		}
	}
}

func TestQueries(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ fts5, tsquery string }{
		`reset`:                     {`"w" AND "reset"`, `'w' & ('reset')`},
		`"Connection reset" -tls`:   {`("w" AND "connection reset") NOT ("tls")`, `'w' & ('connection' <-> 'reset') & !('tls')`},
		`a-b dep*`:                  {`"w" AND "a b" AND "dep" *`, `'w' & ('a' <-> 'b') & ('dep':*)`},
		`x de*`:                     {`"w" AND "x" AND "de"`, `'w' & ('x') & ('de')`},
		`one -"two three" -"four`:   {`("w" AND "one") NOT ("two three" OR "four")`, `'w' & ('one') & !('two' <-> 'three') & !('four')`},
		`AND OR NOT near(x) ' "" \`: {`"w" AND "and" AND "or" AND "not" AND "near x"`, `'w' & ('and') & ('or') & ('not') & ('near' <-> 'x')`},
	} {
		q, err := Parse(text)
		if err != nil || q.FTS5("w") != want.fts5 || q.TSQuery("w") != want.tsquery {
			t.Errorf("%q: FTS5 = %s, TSQuery = %s, %v; want %s, %s", text, q.FTS5("w"), q.TSQuery("w"), err, want.fts5, want.tsquery)
		}
	}
	for text, want := range map[string]error{"": ErrNoWords, "!!": ErrNoWords, "-x": ErrNoWords, strings.Repeat("a ", 129): ErrLong} {
		if _, err := Parse(text); err != want { //nolint:errorlint // Parse never wraps the error
			t.Errorf("%q gives %v, want %v", text, err, want)
		}
	}
}

func textsOf(s *Scanner, pieces ...string) []string {
	var all []string
	for _, piece := range pieces {
		s.Scan([]byte(piece), func(text []byte) { all = append(all, string(text)) })
	}
	return all
}

func TestScannerFindsTexts(t *testing.T) {
	t.Parallel()
	got := textsOf(&Scanner{SkipAnswers: true},
		`{"model":"m","messages":[{"role":"system","content":"be brief"},{"role":"assistant","content":"old answer","tool_calls":[{"function":{"name":"find","arguments":"{}"}}]},`,
		`{"content":[{"type":"text","text":`, `"line\nbreak \u00e9\ud83d\ude00 \"q\""`, `},{"type":"image","data":"`+strings.Repeat("A", 600)+`"}],"role":"user"}]}`)
	if diff := cmp.Diff([]string{"be brief", "line break é😀 \"q\""}, got); diff != "" {
		t.Error(diff)
	}
	if got := textsOf(&Scanner{}, `{"role":"assistant","content":"an answer"}`); len(got) != 1 {
		t.Errorf("a response has the texts %q, want one", got)
	}
}

func TestScannerReadsAnyString(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		raw, err := json.Marshal(map[string]string{"content": text})
		if err != nil {
			t.Fatal(err)
		}
		want, _ := AppendWords(nil, []byte(text))
		var got []byte
		(&Scanner{}).Scan(raw, func(text []byte) { got, _ = AppendWords(got, text) })
		if string(got) != string(want) && !encoded(raw) {
			t.Fatalf("words %q, want %q", got, want)
		}
	})
}

func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"a":"b\u12"`), `x "y`)
	f.Fuzz(func(_ *testing.T, piece []byte, query string) {
		q, err := Parse(query)
		if err != nil {
			q, _ = Parse("x")
		}
		e := NewExcerpter(q)
		(&Scanner{SkipAnswers: true}).Scan(piece, e.Add)
		e.Add(piece)
	})
}

func TestExcerpts(t *testing.T) {
	t.Parallel()
	q, err := Parse(`"connection reset" peer`)
	if err != nil {
		t.Fatal(err)
	}
	e := NewExcerpter(q)
	e.Add([]byte("no words here"))
	e.Add([]byte("a peer only"))
	e.Add([]byte(strings.Repeat("filler ", 40) + "read:\n\tConnection-Reset by\u202e <b>peer</b>" + strings.Repeat(" tail", 90)))
	var plainText, marked []string
	for _, s := range e.Excerpt() {
		plainText = append(plainText, s.Text)
		if s.Match {
			marked = append(marked, s.Text)
		}
	}
	whole := strings.Join(plainText, "")
	if diff := cmp.Diff([]string{"Connection-Reset", "peer"}, marked); diff != "" || len(whole) > 300 || !strings.HasPrefix(whole, "…filler ") || !strings.HasSuffix(whole, "…") || strings.Contains(whole, "\u202e") {
		t.Errorf("%q %s", whole, diff)
	}
}

func TestExcerptsOfAnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab é東\u202e<>&\n")), 0, 900, -1).Draw(t, "text")
		q, err := Parse(rapid.SampledFrom([]string{"a", `"a b"`, "東 é", "aab*"}).Draw(t, "query"))
		if err != nil {
			t.Fatal(err)
		}
		e := NewExcerpter(q)
		e.Add([]byte(text))
		size, marks := 0, 0
		for _, s := range e.Excerpt() {
			size += len(s.Text)
			if s.Match {
				marks++
			}
		}
		if size > maxExcerpt+2*before+64 || (marks == 0) != (e.best == 0) {
			t.Fatalf("an excerpt of %d bytes with %d marks and %d terms", size, marks, e.best)
		}
	})
}

func TestTSVector(t *testing.T) {
	t.Parallel()
	if got := TSVector([]byte("b a b ")); got != "'a':2 'b':1,3 " {
		t.Errorf("TSVector = %q, want %q", got, "'a':2 'b':1,3 ")
	}
	if got := string(CutWords([]byte("a b c "), 2)); got != "a b " {
		t.Errorf("CutWords = %q, want %q", got, "a b ")
	}
}

func BenchmarkAppendWords(b *testing.B) {
	text := []byte(strings.Repeat("The gateway returns 429 when a hold can clear, after a retry. ", 50))
	b.SetBytes(int64(len(text)))
	var to []byte
	for b.Loop() {
		to, _ = AppendWords(to[:0], text)
	}
}
