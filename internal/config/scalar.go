package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/internal/document"
	"fairlead.dev/internal/spelling"
)

// fault describes an invalid value.
type fault struct {
	code       Code
	message    string
	suggestion string
	fix        string
}

// setScalar parses text into the scalar v.
func setScalar(v reflect.Value, f field, text string) *fault {
	switch {
	case v.Type() == durationType:
		d, err := ParseDuration(text)
		if err != nil {
			return notA(f, text, "a duration", SuggestDuration(text), "write a duration with its unit, such as 250ms, 10s, 5m or 30d")
		}
		v.SetInt(int64(d))
	case v.Type() == sizeType:
		n, err := ParseSize(text)
		if err != nil {
			return notA(f, text, "a size", SuggestSize(text), "write a size such as 512, 64KiB, 32MiB or 1GiB")
		}
		v.SetInt(int64(n))
	case v.Kind() == reflect.String:
		if len(f.enum) > 0 && !slices.Contains(f.enum, text) {
			return &fault{
				code:       NotAllowed,
				message:    fmt.Sprintf("%s cannot be %s", f.name, document.Quote(text)),
				suggestion: spelling.Closest(text, f.enum),
				fix:        "use one of " + strings.Join(f.enum, ", "),
			}
		}
		v.SetString(text)
	case v.Kind() == reflect.Bool:
		b, ok := map[string]bool{"true": true, "false": false}[text]
		if !ok {
			return notA(f, text, "true or false", boolMeant(text), "write true or false")
		}
		v.SetBool(b)
	case v.CanInt():
		n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, v.Type().Bits())
		if err != nil {
			return notA(f, text, "a whole number", "", "write a whole number")
		}
		v.SetInt(n)
	case v.CanFloat():
		n, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return notA(f, text, "a number", "", "write a number")
		}
		v.SetFloat(n)
	}
	return nil
}

func notA(f field, text, wanted, suggestion, fix string) *fault {
	code := WrongType
	if suggestion != "" || f.typ == durationType || f.typ == sizeType {
		code = BadValue
	}
	return &fault{code: code, message: fmt.Sprintf("%s must be %s, not %s", f.name, wanted, document.Quote(text)), suggestion: suggestion, fix: fix}
}

func boolMeant(text string) string {
	switch strings.ToLower(text) {
	case "yes", "on", "y", "1", "true":
		return "true"
	case "no", "off", "n", "0", "false":
		return "false"
	}
	return ""
}
