package llm

import (
	"strings"
	"testing"
)

func TestStandardBase64(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in, want string
		ok             bool
	}{
		{"standard", "+/+/AA==", "+/+/AA==", true},
		{"URL alphabet", "-_-_AA==", "+/+/AA==", true},
		{"missing padding", "AAE", "AAE=", true},
		{"lines", "AAAA\r\nAAAA\n", "AAAAAAAA", true},
		{"empty", "", "", true},
		{"a full stop", "AA.A", "", false},
		{"padding inside", "AA==AAAA", "", false},
		{"one character too many", "AAAAA", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got, ok := StandardBase64(c.in); got != c.want || ok != c.ok {
				t.Errorf("StandardBase64(%q) = %q, %t, want %q, %t", c.in, got, ok, c.want, c.ok)
			}
		})
	}
}

func TestStandardBase64AllocatesNothingForStandardInput(t *testing.T) { //nolint:paralleltest // the test counts allocations
	data := strings.Repeat("AAAA", 1<<18)
	if n := testing.AllocsPerRun(5, func() { _, _ = StandardBase64(data) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
