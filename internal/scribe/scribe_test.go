package scribe

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type word string

type amount int64

func (a amount) AppendText(b []byte) ([]byte, error) { return append(b, "seven"...), nil }
func (a amount) MarshalJSON() ([]byte, error)        { return []byte(`"seven"`), nil }
func (s shout) MarshalJSON() ([]byte, error)         { return json.Marshal(string(s) + "!") }

type shout string

type nested struct {
	Flag  bool    `json:"flag,omitempty"`
	Ratio float64 `json:"ratio,omitzero"`
}

type sample struct {
	Plain    string
	Word     word              `json:"word,omitempty"`
	Number   int64             `json:"number"`
	Small    int32             `json:"small"`
	Few      [3]int32          `json:"few"`
	Ratio    float64           `json:"ratio"`
	Rated    float64           `json:"rated,omitempty"`
	When     time.Time         `json:"when"`
	Maybe    time.Time         `json:"maybe,omitzero"`
	Length   time.Duration     `json:"length,omitempty"`
	Inner    nested            `json:"inner,omitzero"`
	Always   nested            `json:"always"`
	Pointer  *nested           `json:"pointer,omitempty"`
	Null     *nested           `json:"null"`
	List     []nested          `json:"list"`
	Names    []string          `json:"names,omitempty"`
	Tags     map[string]string `json:"tags,omitempty"`
	AllTags  map[string]string `json:"all_tags"`
	Cost     amount            `json:"cost"`
	Free     *amount           `json:"free,omitempty"`
	Shout    shout             `json:"shout"`
	Bytes    []byte            `json:"bytes"`
	Anything map[string]int    `json:"anything,omitempty"`
	Secret   string            `json:"-"`
	hidden   string
}

func draw(t *rapid.T) sample {
	inner := rapid.Custom(func(t *rapid.T) nested {
		return nested{Flag: rapid.Bool().Draw(t, "flag"), Ratio: rapid.Float64().Draw(t, "ratio")}
	})
	texts := rapid.MapOfN(rapid.String(), rapid.String(), 0, 3)
	when := rapid.Custom(func(t *rapid.T) time.Time { return time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "s"), 123456789).UTC() })
	s := sample{
		Plain: rapid.String().Draw(t, "plain"), Word: word(rapid.SampledFrom([]string{"", "<b>&\u2028", "\xff\x00\"\\"}).Draw(t, "word")),
		Number: rapid.Int64().Draw(t, "number"), Small: rapid.Int32().Draw(t, "small"), Ratio: rapid.Float64().Draw(t, "ratio"),
		Rated: rapid.SampledFrom([]float64{0, 1e-7, 1e21, 0.1, math.Copysign(0, -1)}).Draw(t, "rated"),
		When:  when.Draw(t, "when"), Length: time.Duration(rapid.Int64Range(0, 2).Draw(t, "length")),
		Inner: inner.Draw(t, "inner"), List: rapid.SliceOfN(inner, 0, 3).Draw(t, "list"), Names: rapid.SliceOfN(rapid.String(), 0, 2).Draw(t, "names"),
		Tags: texts.Draw(t, "tags"), AllTags: texts.Draw(t, "all tags"), Shout: shout(rapid.StringMatching(`[a-z]*`).Draw(t, "shout")),
		Bytes: rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"), Anything: map[string]int{"a": 1}, Secret: "s", hidden: "h",
	}
	if rapid.Bool().Draw(t, "more") {
		one := inner.Draw(t, "pointer")
		free := amount(7)
		s.Pointer, s.Free, s.Maybe = &one, &free, s.When
	}
	if rapid.Bool().Draw(t, "none") {
		s.List, s.AllTags, s.Names = nil, nil, []string{}
	}
	return s
}

func TestItWritesWhatEncodingJSONWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		want, err := json.Marshal(&s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := For[sample]().Append([]byte("x"), &s)
		if err != nil || got[0] != 'x' {
			t.Fatalf("%s: %v", got, err)
		}
		if diff := cmp.Diff(read(t, want), read(t, got[1:])); diff != "" {
			t.Error(diff)
		}
	})
}

func TestItTellsWhereAMemberLies(t *testing.T) {
	t.Parallel()
	s := sample{Word: "word", Always: nested{Flag: true, Ratio: 0.5}, Tags: map[string]string{"always": `"always":`}}
	plain, err := For[sample]().Append([]byte("x"), &s)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"always": `{"flag":true,"ratio":0.5}`, "word": `"word"`, "pointer": "", "flag": ""} {
		text, from, to, err := For[sample]().AppendNoting([]byte("x"), &s, name)
		if err != nil || string(text) != string(plain) || string(text[from:to]) != want {
			t.Errorf("%s is %s, want %s: %v", name, text[from:to], want, err)
		}
	}
}

func read(t *rapid.T, data []byte) (v any) {
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return v
}

func TestNumbersAreAsEncodingJSONWritesThem(t *testing.T) {
	t.Parallel()
	ours := For[float64]()
	check := func(t interface{ Errorf(string, ...any) }, f float64) {
		want, err := json.Marshal(f)
		got, errOurs := ours.Append(nil, &f)
		a, b := 0.0, 0.0
		if err != nil || errOurs != nil || json.Unmarshal(got, &a) != nil || json.Unmarshal(want, &b) != nil || a != b || a != f {
			t.Errorf("%v is written as %s, want %s", f, got, want)
		}
		if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 && string(got) != string(want) { // exponents may differ in their zeros
			t.Errorf("%v is written as %s, want %s", f, got, want)
		}
	}
	for _, f := range []float64{0, math.Copysign(0, -1), 1, -1, 0.1, -0.000001, 0.0000001, 123456.789012, 0.88239, 0.838271, 999999999.999999, 1e9, 1e15, 1e21, 5e-324, math.MaxFloat64} {
		check(t, f)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.Float64().Draw(t, "any"))
		check(t, float64(rapid.Int64Range(-1e13, 1e13).Draw(t, "parts"))/math.Pow10(rapid.IntRange(0, 8).Draw(t, "decimals")))
	})
}

func TestWhatIsNoNumberIsAnError(t *testing.T) {
	t.Parallel()
	for _, f := range []float64{math.NaN(), math.Inf(1)} {
		if _, err := For[sample]().Append(nil, &sample{Ratio: f}); err == nil {
			t.Errorf("%v was written", f)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	s := sample{Plain: "a plain text of some length", Word: "word", Number: 42, List: make([]nested, 10), Names: []string{"a", "b"}, When: time.Unix(1, 0)}
	scribe := For[sample]()
	b.Run("scribe", func(b *testing.B) {
		var out []byte
		b.ReportAllocs()
		for b.Loop() {
			out, _ = scribe.Append(out[:0], &s)
		}
	})
	b.Run("encoding", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = json.Marshal(&s)
		}
	})
}
