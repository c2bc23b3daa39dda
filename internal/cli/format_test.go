package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/internal/money"
)

func TestSmallAmountsAreNotShownAsZero(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := money.Amount(rapid.Int64Range(-int64(money.Max), int64(money.Max)).Draw(t, "amount"))
		text := Dollars(n)
		if zero := !strings.ContainsAny(text, "123456789"); zero != (n == 0) {
			t.Fatalf("Dollars(%d) = %s: has no digit above 0: %t", n, text, zero)
		}
		if strings.HasPrefix(text, "-") != (n < 0) {
			t.Fatalf("Dollars(%d) = %s has the wrong sign", n, text)
		}
	})
}

func TestUnknownAndFreeAreDistinct(t *testing.T) {
	t.Parallel()
	nothing, something := money.Amount(0), money.Amount(310_000)
	noRate, someRate := money.Rate(0), money.PerMillion(2.5)
	got := []string{
		Amount(nil), Amount(&nothing), Cost(nil), Cost(&nothing), Cost(&something), Rate(nil), Rate(&noRate), Rate(&someRate),
	}
	want := []string{"—", "$0.00", "—", "free", "$0.0003100", "—", "free", "$2.50"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0:                         "0 ms",
		-time.Second:              "0 ms",
		300 * time.Nanosecond:     "1 µs",
		850 * time.Microsecond:    "850 µs",
		412 * time.Millisecond:    "412 ms",
		1840 * time.Millisecond:   "1,840 ms",
		12345 * time.Millisecond:  "12.3 s",
		185 * time.Second:         "3 m 5 s",
		3*time.Hour + time.Second: "180 m 1 s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		saved, baseline money.Amount
		want            string
	}{
		{631_000, 941_000, "-67 %"},
		{-941_000, 941_000, "+100 %"},
		{0, 941_000, "0 %"},
		{1, 941_000, "0 %"},
		{5, 0, "—"},
		{999_999, 1_000_000, "-99.9 %"},
		{1_000_000, 1_000_000, "-99.9 %"},
	} {
		if got := CostChange(c.saved, c.baseline); got != c.want {
			t.Errorf("CostChange(%d, %d) = %s, want %s", c.saved, c.baseline, got, c.want)
		}
	}
}

func TestCountAndSizes(t *testing.T) {
	t.Parallel()
	got := []string{
		Count(0), Count(999), Count(1000), Count(-1234567), Plural(1, "model"), Plural(1200, "model"),
		Tokens(0), Tokens(8192), Tokens(128_000), Tokens(1_000_000), Tokens(1_047_576),
	}
	want := []string{"0", "999", "1,000", "-1,234,567", "1 model", "1,200 models", "—", "8,192", "128K", "1M", "1M"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCleanRemovesTerminalControls(t *testing.T) {
	t.Parallel()
	const evil = "a\x1b[2Jb\r\nc\td\u202ee\x00\u009b1m\xff"
	if got, want := Clean(evil), "a [2Jb  c d e  1m\uFFFD"; got != want {
		t.Errorf("clean: %q, want %q", got, want)
	}
	if got, want := CleanLines("a\x1b[1m\n\tb\r"), "a [1m\n\tb "; got != want {
		t.Errorf("cleanLines: %q, want %q", got, want)
	}
}

func TestJSONEscapesTerminalControls(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := (&Console{Out: &out}).PrintJSON(map[string]string{"a": "b\u009b1m\u202ec\u2028d\x7fé"}); err != nil {
		t.Fatal(err)
	}
	if want := `{"a":"b\u009b1m\u202ec\u2028d\u007fé"}` + "\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestWrapKeepsWords(t *testing.T) {
	t.Parallel()
	want := []string{"one two", "three", "incomprehensibilities", "four"}
	if diff := cmp.Diff(want, Wrap("one two  three incomprehensibilities four", 9)); diff != "" {
		t.Error(diff)
	}
}
