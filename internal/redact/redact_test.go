package redact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/redact"
)

func redactor(t testing.TB, r redact.Rules) *redact.Redactor {
	t.Helper()
	x, err := redact.New(r)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func custom(pairs ...string) redact.Rules {
	var r redact.Rules
	for i := 0; i < len(pairs); i += 2 {
		r.Custom = append(r.Custom, redact.Custom{Name: pairs[i], Pattern: pairs[i+1]})
	}
	return r
}

func TestJSONStaysValid(t *testing.T) {
	t.Parallel()
	rules := custom("ticket", `T-\d+`, "code name", `(?i)raven\nnest`)
	rules.Builtin = []string{"email", "card"}
	picture := "data:image/png;base64," + strings.Repeat("sk-AAAA4111111111111111T-1a", 10)
	vector := strings.Repeat("aB4T-1", 100)
	for name, c := range map[string][2]string{
		"a value": {
			`{"messages":[{"role":"user","content":"I am ann@example.com, T-1"}]}`,
			`{"messages":[{"role":"user","content":"I am [redacted: email], [redacted: ticket]"}]}`,
		},
		"keys, numbers and white space stay": {
			"{ \"ann@example.com\" : 4111111111111111 , \"T-1\":\n[\"T-2\", null, true]\n}\n",
			"{ \"ann@example.com\" : 4111111111111111 , \"T-1\":\n[\"[redacted: ticket]\", null, true]\n}\n",
		},
		"escapes are decoded, and others stay": {
			`["caf\u00e9 \"ann\u0040example.com\" \ud83d\ude00 Raven\u000aNEST\/ \ud800"]`,
			`["caf\u00e9 \"[redacted: email]\" \ud83d\ude00 [redacted: code name]\/ \ud800"]`,
		},
		"tool arguments as JSON in a string": {
			`{"arguments":"{\"to\":\"ann@example.com\",\"n\":1}"}`,
			`{"arguments":"{\"to\":\"[redacted: email]\",\"n\":1}"}`,
		},
		"only a string":   {`"T-1"`, `"[redacted: ticket]"`},
		"media":           {`["` + picture + `","` + vector + `"]`, ""},
		"media with more": {`["` + vector + ` T-1"]`, `["` + strings.Repeat("aB4[redacted: ticket]", 99) + "aB4[redacted: ticket]" + ` [redacted: ticket]"]`},
		"no match":        {`{"a":"b","c":[1,2,{"d":"e\n"}]}`, ""},
		"invalid JSON":    {"{T-1, \"T-2\"", "{[redacted: ticket], \"[redacted: ticket]\""},
		"invalid UTF-8":   {"[\"\xff T-1 \xfe\"]", "[\"\xff [redacted: ticket] \xfe\"]"},
		"nothing":         {"", ""},
	} {
		want := c[1]
		if want == "" {
			want = c[0]
		}
		if diff := cmp.Diff(want, string(redactor(t, rules).Begin(nil).JSON([]byte(c[0])))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestOverlappingMatchesAreMerged(t *testing.T) {
	t.Parallel()
	p := redactor(t, custom("first", `abcd`, "second", `cdef`, "inner", `b`, "other", `x`)).Begin(nil)
	if got := p.Text("-abcdef-x-"); got != "-[redacted: first]-[redacted: other]-" {
		t.Errorf("Text = %q, want the first two matches merged", got)
	}
	if diff := cmp.Diff(map[string]int{"first": 1, "other": 1}, p.Counts()); diff != "" {
		t.Error(diff)
	}
}

func TestMarksAreNotSearched(t *testing.T) {
	t.Parallel()
	p := redactor(t, custom("a", `z`, "b", `redacted`)).Begin(nil)
	if got := p.Text("z"); got != "[redacted: a]" {
		t.Errorf("Text = %q, want [redacted: a]", got)
	}
}

func TestPassCountsMatchesOfAllTexts(t *testing.T) {
	t.Parallel()
	p := redactor(t, custom("t", `T-\d`)).Begin(nil)
	p.Text("T-1 T-2")
	p.JSON([]byte(`["T-3"]`))
	if p.Counts()["t"] != 3 || p.Stopped() {
		t.Errorf("counts %v, stopped %t; want 3 for t, false", p.Counts(), p.Stopped())
	}
}

func TestExpiredPassReturnsNothing(t *testing.T) {
	t.Parallel()
	left := 5
	p := redactor(t, custom("a", `a`, "b", `(?s)b.*z|b`)).Begin(func() bool { left--; return left < 0 })
	if p.Text("a b") == "" || p.Stopped() {
		t.Fatal("the pass stopped before its limit")
	}
	text := strings.Repeat("b", 1000) // each b searches for a z up to the end of the text
	if got := p.JSON([]byte(`["` + text + `"]`)); got != nil || !p.Stopped() {
		t.Errorf("JSON = %q, stopped %t; want nil, true", got, p.Stopped())
	}
	if p.Text("plain") != "" || p.JSON([]byte(`["plain"]`)) != nil || p.JSON([]byte(`plain`)) != nil {
		t.Error("a stopped pass returned a text")
	}
}

func TestAllMatchesAreFound(t *testing.T) {
	t.Parallel()
	p := redactor(t, custom("x", `x`)).Begin(nil)
	if got := p.Text(strings.Repeat("x.", 1000)); got != strings.Repeat("[redacted: x].", 1000) {
		t.Errorf("Text = %q..., want every x redacted", got[:100])
	}
}

// Each match of this pattern reads to the end of the text, so the time of a pass is limited only if the deadline is
// checked between matches.
func TestTimeIsCheckedAfterEveryMatch(t *testing.T) {
	t.Parallel()
	const matches = 1000
	text := strings.Repeat("a", matches)
	for _, limit := range []int{1, 7, 500, matches + 2} {
		checks := 0
		pass := redactor(t, custom("x", "a.*b|a")).Begin(func() bool {
			checks++
			return checks >= limit
		})
		got := pass.Text(text)
		if stopped := limit <= matches+1; checks > limit || pass.Stopped() != stopped || stopped != (got == "") {
			t.Errorf("limit %d: %d checks, stopped %t, %d bytes", limit, checks, pass.Stopped(), len(got))
		}
	}
}

func TestCheckReportsAllProblems(t *testing.T) {
	t.Parallel()
	rules := custom("Bad", `(`, "", `a`, "email", `a`, "bad", ``, "all", `a*`, "long", strings.Repeat("a", 301), "big", `(?:ab?){150}`, "-x", `x`, strings.Repeat("n", 41), "x")
	rules.Builtin = []string{"emial", "card", "card"}
	var got []string
	for _, p := range rules.Check() {
		got = append(got, p.Param+": "+p.Message)
	}
	want := []string{
		`builtin[0]: unknown built-in rule "emial"; the built-in rules are secret, email, iban, card, ssn, phone, ip`,
		`builtin[2]: rule "card" is listed twice`,
		"custom[0].pattern: rule \"Bad\": the pattern is not valid: missing closing ): `(`",
		`custom[1].name: rule "": the name is missing`,
		`custom[2].name: rule "email": a built-in rule has this name`,
		`custom[3].name: rule "bad": another rule has this name`,
		`custom[3].pattern: rule "bad": the pattern is missing`,
		`custom[4].pattern: rule "all": the pattern matches the empty string`,
		`custom[5].pattern: rule "long": the pattern is longer than 300 bytes`,
		`custom[6].pattern: rule "big": the pattern is too complex: it has 452 steps; the maximum is 200`,
		`custom[7].name: rule "-x": a name starts with a letter and has only letters, digits, spaces, dashes and underscores`,
		fmt.Sprintf(`custom[8].name: rule "%s…": the name is longer than 40 characters`, strings.Repeat("n", 40)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := redact.New(rules); err == nil {
		t.Error("New accepted invalid rules")
	}
	many := redact.Rules{Custom: make([]redact.Custom, redact.MaxCustom+1)}
	if problems := many.Check(); problems[0].Param != "custom" {
		t.Errorf("first problem %+v, want one for custom", problems[0])
	}
}

func TestEmptyRulesKeepTheText(t *testing.T) {
	t.Parallel()
	p := redactor(t, redact.Rules{}).Begin(nil)
	if got := p.Text("ann@example.com"); got != "ann@example.com" || !(redact.Rules{}).Empty() {
		t.Errorf("Text = %q, empty = %t; want the text unchanged, true", got, redact.Rules{}.Empty())
	}
}
