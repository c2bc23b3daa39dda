package money

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// amount draws amounts of all sizes, including the limits.
func amount() *rapid.Generator[Amount] {
	return rapid.Custom(func(t *rapid.T) Amount {
		ends := rapid.SampledFrom([]Amount{0, 1, -1, Dollar, -Dollar, Max, -Max, Max - 1, 1 - Max})
		any64 := rapid.Map(rapid.Int64Range(-math.MaxInt64, math.MaxInt64), func(n int64) Amount { return Amount(n) })
		return rapid.OneOf(ends, any64).Draw(t, "amount")
	})
}

// saturated returns the exact sum, limited to the range -Max to Max.
func saturated(exact *big.Int) Amount {
	limit := big.NewInt(int64(Max))
	switch {
	case exact.Cmp(limit) > 0:
		return Max
	case exact.Cmp(new(big.Int).Neg(limit)) < 0:
		return -Max
	}
	return Amount(exact.Int64())
}

func TestSumsAreExactOrSaturate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := amount().Draw(t, "a"), amount().Draw(t, "b")
		x, y := big.NewInt(int64(a)), big.NewInt(int64(b))
		if got, want := a.Add(b), saturated(new(big.Int).Add(x, y)); got != want {
			t.Fatalf("%d + %d = %d, want %d", a, b, got, want)
		}
		if got, want := a.Sub(b), saturated(new(big.Int).Sub(x, y)); got != want {
			t.Fatalf("%d - %d = %d, want %d", a, b, got, want)
		}
		if a.Add(b) != b.Add(a) {
			t.Fatalf("%d + %d depends on the order", a, b)
		}
	})
}

func TestSumsSaturateAtTheLimits(t *testing.T) {
	t.Parallel()
	const below = Amount(math.MinInt64) // below the range: only a conversion can produce it
	for _, tc := range []struct{ got, want Amount }{
		{Max.Add(1), Max},
		{Max.Add(Max), Max},
		{(-Max).Add(-1), -Max},
		{(-Max).Add(-Max), -Max},
		{(-Max).Sub(1), -Max},
		{Max.Sub(-1), Max},
		{Max.Sub(-Max), Max},
		{Max.Sub(Max), 0},
		{(-Max).Sub(-Max), 0},
		{Max.Add(-Max), 0},
		{below.Add(0), -Max},
		{Amount(0).Sub(below), Max},
		{below.Sub(below), 0},
		{Amount(-1).Sub(below), Max},
	} {
		if tc.got != tc.want {
			t.Errorf("sum is %d, want %d", tc.got, tc.want)
		}
	}
}

func TestCostIsExact(t *testing.T) {
	t.Parallel()
	sizes := rapid.OneOf(rapid.Int64Range(-10, 10_000), rapid.Int64Range(0, 1<<40), rapid.Int64Range(0, math.MaxInt64))
	rapid.Check(t, func(t *rapid.T) {
		tokens, rate := sizes.Draw(t, "tokens"), Rate(sizes.Draw(t, "rate"))
		want := Amount(0)
		if tokens > 0 && rate > 0 {
			product := new(big.Int).Mul(big.NewInt(tokens), big.NewInt(int64(rate)))
			product.Add(product, big.NewInt(500_000)) // halves are rounded up
			want = saturated(product.Div(product, big.NewInt(1_000_000)))
		}
		if got := rate.Cost(tokens); got != want {
			t.Fatalf("%d tokens at %d cost %d, want %d", tokens, rate, got, want)
		}
	})
}

func TestCost(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rate   Rate
		tokens int64
		want   Amount
	}{
		"a million tokens":          {PerMillion(2.5), 1_000_000, 2_500_000_000},
		"one token":                 {PerMillion(2.5), 1, 2_500},
		"below half rounds to zero": {499_999, 1, 0},
		"half rounds up":            {500_000, 1, 1},
		"zero tokens":               {PerMillion(2.5), 0, 0},
		"negative tokens":           {PerMillion(2.5), -1_000_000, 0},
		"negative rate":             {-PerMillion(2.5), 1_000_000, 0},
		"overflow":                  {math.MaxInt64, math.MaxInt64, Max},
		"just above the maximum":    {1_000_000, math.MaxInt64, Max},
		"overflow by rounding":      {2_000_002, 9_223_362_813_491_962_316, Max},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.rate.Cost(tc.tokens); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

// Ten million of the smallest charges sum exactly; floats would lose some.
func TestManySmallChargesAddUpExactly(t *testing.T) {
	t.Parallel()
	const charges = 10_000_000
	smallest := PerMillion(0.01).Cost(1) // a token of a cheap model: ten nano-dollars
	var sum Amount
	for range charges {
		sum = sum.Add(smallest)
	}
	if want := Amount(100_000_000); smallest != 10 || sum != want {
		t.Errorf("%d charges of %s sum to %s, want %s", charges, smallest, sum, want)
	}
	var ones Amount
	for range charges {
		ones = ones.Add(1)
	}
	if ones != charges || ones.String() != "0.01" {
		t.Errorf("%d charges of one nano-dollar sum to %s, want 0.01", charges, ones)
	}
}

func TestTextRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := amount().Draw(t, "amount")
		if read, err := Parse(a.String()); err != nil || read != a {
			t.Fatalf("%d was formatted as %q and parsed as %d: %v", a, a, read, err)
		}
		raw, err := json.Marshal(map[string]Amount{"cost": a})
		if err != nil {
			t.Fatal(err)
		}
		var read map[string]Amount
		if err := json.Unmarshal(raw, &read); err != nil || read["cost"] != a {
			t.Fatalf("%d was encoded as %s and decoded as %d: %v", a, raw, read["cost"], err)
		}
	})
}

func TestString(t *testing.T) {
	t.Parallel()
	for a, want := range map[Amount]string{
		0: "0", 1: "0.000000001", -1: "-0.000000001", 310_000: "0.00031", 12_500_000_000: "12.5", -3 * Dollar: "-3",
		Max: "9223372036.854775807", -Max: "-9223372036.854775807", math.MinInt64: "-9223372036.854775808",
	} {
		if got := a.String(); got != want {
			t.Errorf("String of %d = %q, want %q", int64(a), got, want)
		}
	}
}

func TestDisplay(t *testing.T) {
	t.Parallel()
	for a, want := range map[Amount]string{
		0: "$0.00", 34_100_000_000: "$34.10", 50 * Dollar: "$50.00", 1_234_500_000_000: "$1,234.50", 1_000_000 * Dollar: "$1,000,000.00",
		1: "$0.000000001", 310_000: "$0.0003100", 12_345_678: "$0.01235", 999_950_000: "$1.00", 999_940_000: "$0.9999", 500_000_000: "$0.5000",
		1_005_000_000: "$1.01", -34_100_000_000: "-$34.10", -310_000: "-$0.0003100", Max: "$9,223,372,036.85",
	} {
		if got := a.Display(); got != want {
			t.Errorf("Display of %d = %q, want %q", int64(a), got, want)
		}
	}
}

func TestParseRejectsInvalidAmounts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "-", ".", ".5", "abc", "1e3", "1E3", "+1", "--1", "1.0000000001", "1.2.3", "1.-2", " 1", "1 ", "1,5", "$1", "0x10", "1_000", "NaN", "Inf", "null",
		"9223372036.854775808", "99999999999999999999", "١",
	} {
		if got, err := Parse(text); !errors.Is(err, ErrSyntax) {
			t.Errorf("Parse(%q) = %d, %v; want ErrSyntax", text, got, err)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]Amount{`"0.00031"`: 310_000, `0.00031`: 310_000, `-3`: -3 * Dollar, `"12.50"`: 12_500_000_000, `"\u0031"`: Dollar} {
		var got Amount
		if err := json.Unmarshal([]byte(raw), &got); err != nil || got != want {
			t.Errorf("%s was decoded as %d, %v; want %d", raw, got, err, want)
		}
	}
	for _, raw := range []string{`1e3`, `"1e3"`, `true`, `[]`, `{}`, `""`, `1.0000000001`} {
		got := Amount(7)
		if err := json.Unmarshal([]byte(raw), &got); err == nil || got != 7 {
			t.Errorf("%s was decoded as %d, %v; want an error and the value unchanged", raw, got, err)
		}
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	for dollars, want := range map[float64]Rate{0: 0, 0.02: 20_000_000, 2.5: 2_500_000_000, 0.1 + 0.2: 300_000_000, 75: 75_000_000_000} {
		if got := PerMillion(dollars); got != want || math.Abs(got.Dollars()-dollars) > 1e-9 {
			t.Errorf("PerMillion(%v) = %d (%v dollars), want %d", dollars, got, got.Dollars(), want)
		}
	}
	if got := Amount(2_500_000_000).Dollars(); got != 2.5 {
		t.Errorf("Dollars = %v, want 2.5", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"0", "-1.5", "9223372036.854775807", "1.", "-0", "00.10", "x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(a.String()); err != nil || again != a {
			t.Errorf("%q is %d, was formatted as %q and parsed as %d: %v", text, a, a, again, err)
		}
	})
}

func TestTimesMultipliesARate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rate        Rate
		thousandths int64
		want        Rate
	}{
		{2_000_000_000, 500, 1_000_000_000},
		{2_000_000_000, 1000, 2_000_000_000},
		{75_000_000, 1667, 125_025_000},
		{1, 500, 1}, // halves are rounded up
		{5, 0, 0},
		{5, -1000, 0},
		{math.MaxInt64, 2000, math.MaxInt64},
		{1000, math.MaxInt64, 9223372036854775},
	} {
		if got := tc.rate.Times(tc.thousandths); got != tc.want {
			t.Errorf("%d times %d thousandths = %d, want %d", tc.rate, tc.thousandths, got, tc.want)
		}
	}
}
