// Package money represents amounts as whole nano-dollars and prices as nano-dollars per million tokens. Sums saturate
// instead of wrapping, so a balance never overflows.
package money

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Amount is a sum of money in nano-dollars.
type Amount int64

// Dollar is one US dollar.
const Dollar Amount = 1_000_000_000

// Max is the largest amount. Sums saturate at Max.
const Max Amount = math.MaxInt64

// Rate is a price in nano-dollars per million tokens.
type Rate int64

// ErrSyntax is returned for text that is not a dollar amount with at most nine decimals.
var ErrSyntax = errors.New("not an amount in dollars")

// Add returns a+b, limited to the range -Max to Max.
func (a Amount) Add(b Amount) Amount {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return Max
	case a < 0 && b < 0 && sum >= 0, sum < -Max:
		return -Max
	}
	return sum
}

// Sub returns a-b, limited to the range -Max to Max.
func (a Amount) Sub(b Amount) Amount {
	difference := a - b
	switch {
	case a >= 0 && b < 0 && difference < 0:
		return Max
	case a < 0 && b > 0 && difference >= 0, difference < -Max:
		return -Max
	}
	return difference
}

// Cost returns the cost of tokens, rounded half up to a whole nano-dollar. A negative number of tokens costs nothing, because it
// is a provider error and never a refund.
func (r Rate) Cost(tokens int64) Amount {
	if tokens <= 0 || r <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(tokens), uint64(r))
	const million = 1_000_000
	if hi >= million {
		return Max
	}
	quo, rem := bits.Div64(hi, lo, million)
	if quo >= math.MaxInt64 { // the range is checked before rounding, which could overflow
		return Max
	}
	if rem >= million/2 {
		quo++
	}
	return Amount(quo)
}

// Times returns the rate multiplied by a factor in thousandths: 500 halves it, 2000 doubles it.
func (r Rate) Times(thousandths int64) Rate {
	if thousandths > math.MaxInt64/1000 {
		thousandths = math.MaxInt64 / 1000
	}
	return Rate(r.Cost(thousandths * 1000)) // the cost of a million tokens equals the rate
}

// PerMillion returns the rate for a price in dollars per million tokens.
func PerMillion(dollars float64) Rate {
	return Rate(math.Round(dollars * float64(Dollar)))
}

// Dollars returns the amount as a float. Use it only for scores and charts, never for sums.
func (a Amount) Dollars() float64 { return float64(a) / float64(Dollar) }

// Dollars returns the rate in dollars per million tokens. Use it only for scores and display.
func (r Rate) Dollars() float64 { return float64(r) / float64(Dollar) }

// String returns the exact amount in dollars without trailing zeros: "0.00031", "12.5", "-3".
func (a Amount) String() string {
	var buf [24]byte
	text, _ := a.AppendText(buf[:0]) // AppendText never fails
	return string(text)
}

// Display formats the amount for people. Amounts of one dollar or more have two decimals. Smaller amounts have four
// significant digits, so that they never look like zero: "$34.10", "$1,234.50", "$0.0003100".
func (a Amount) Display() string {
	sign, n := "", uint64(a)
	if a < 0 {
		sign, n = "-", uint64(-a)
	}
	const dollar = uint64(Dollar)
	if n == 0 {
		return "$0.00"
	}
	if n < dollar {
		unit := uint64(1) // value of the fourth significant digit
		for n/unit >= 10_000 {
			unit *= 10
		}
		n = (n + unit/2) / unit * unit
	}
	if n >= dollar {
		cents := (n + dollar/200) / (dollar / 100)
		whole := strconv.FormatUint(cents/100, 10)
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "," + whole[i:]
		}
		return fmt.Sprintf("%s$%s.%02d", sign, whole, cents%100)
	}
	zeros := 9 - len(strconv.FormatUint(n, 10)) // zeros between the decimal point and the first digit
	return sign + "$0." + fmt.Sprintf("%09d", n)[:min(9, 4+zeros)]
}

// Parse parses the output of String.
func Parse(s string) (Amount, error) {
	digits, negative := strings.CutPrefix(s, "-")
	whole, frac, _ := strings.Cut(digits, ".")
	if whole == "" || len(frac) > 9 {
		return 0, fmt.Errorf("%q: %w", s, ErrSyntax)
	}
	n, err := strconv.ParseUint(whole+frac+strings.Repeat("0", 9-len(frac)), 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", s, ErrSyntax)
	}
	if negative {
		return -Amount(n), nil
	}
	return Amount(n), nil
}

// AppendText appends the output of String.
func (a Amount) AppendText(to []byte) ([]byte, error) {
	n := uint64(a)
	if a < 0 {
		to, n = append(to, '-'), -n
	}
	to = strconv.AppendUint(to, n/uint64(Dollar), 10)
	frac := n % uint64(Dollar)
	if frac == 0 {
		return to, nil
	}
	end := len(to) + 1
	to = append(to, ".000000000"...)
	for i := 8; i >= 0; i-- {
		to[end+i] = byte('0' + frac%10)
		frac /= 10
	}
	for to[len(to)-1] == '0' {
		to = to[:len(to)-1]
	}
	return to, nil
}

// MarshalJSON encodes the amount as a string, because common JSON parsers round numbers with many digits.
func (a Amount) MarshalJSON() ([]byte, error) {
	text, err := a.AppendText(append(make([]byte, 0, 24), '"'))
	return append(text, '"'), err
}

// UnmarshalJSON decodes a string of dollars, or a number without an exponent.
func (a *Amount) UnmarshalJSON(b []byte) error {
	text := string(b)
	if n := len(b); n > 1 && b[0] == '"' && b[n-1] == '"' && !bytes.ContainsAny(b, `\`) {
		text = string(b[1 : n-1]) // a string without escapes, as MarshalJSON writes it
	} else if n > 0 && b[0] == '"' {
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
	}
	parsed, err := Parse(text)
	if err != nil {
		return err
	}
	*a = parsed
	return nil
}
