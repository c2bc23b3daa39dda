package show

import (
	"strings"
	"testing"
)

func TestShow(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ got, want string }{
		"line ends and escapes become spaces":  {OneLine("a\nb\x1b[31m"), "a b [31m"},
		"direction marks become spaces":        {OneLine("a\u202eb\u2066"), "a b "},
		"a short text is unchanged":            {Cut("grün", 10), "grün"},
		"a rune is not split":                  {Cut("grün", 3), "gr"},
		"a value is quoted":                    {Quote("x\ty"), `"x y"`},
		"a long value ends with dots":          {Quote(string(make([]byte, 80))), `"` + strings.Repeat(" ", 60) + `…"`},
		"a preview starts with the first word": {Preview(" \n hello\nworld", 8), "hello wo"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %q, want %q", name, tc.got, tc.want)
		}
	}
}
