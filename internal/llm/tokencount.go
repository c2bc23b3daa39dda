package llm

import (
	"math"
	"strconv"
)

// MaxTokenCount is the largest token count that is accepted as plausible. No single request can reach it.
const MaxTokenCount = 1_000_000_000_000

// ParseTokenCount parses a token count in any JSON notation of a number: 1000, 1000.0 and 1e3 are the same count. It
// returns false for numbers that are negative, fractional or above MaxTokenCount.
func ParseTokenCount(number string) (int64, bool) {
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n >= 0 && n <= MaxTokenCount) || n != math.Trunc(n) {
		return 0, false
	}
	return int64(n), true
}

// TokenCount is a token count in a provider's JSON. Some gateways write it as a string. It is -1 when the value is not
// a token count.
type TokenCount int64

// UnmarshalJSON implements json.Unmarshaler. It never returns an error, because an invalid count must not make the
// response unusable.
func (c *TokenCount) UnmarshalJSON(raw []byte) error {
	s := string(raw)
	if s == "null" {
		return nil
	}
	if len(s) > 1 && s[0] == '"' {
		s = s[1 : len(s)-1]
	}
	*c = -1
	if n, ok := ParseTokenCount(s); ok {
		*c = TokenCount(n)
	}
	return nil
}
