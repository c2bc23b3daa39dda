package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for _, c := range []struct{ name, before, after, want string }{
		{"nothing", ten, ten, ""},
		{"empty before", "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"empty after", "a\n", "", "@@ -1,1 +0,0 @@\n-a\n"},
		{"one line", ten, strings.Replace(ten, "5", "five", 1), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		{"at both ends", ten, "0\n" + ten + "11\n", "@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n@@ -8,3 +9,4 @@\n 8\n 9\n 10\n+11\n"},
		{"near to each other", ten, "1\n2\nx\n4\n5\n6\n7\ny\n9\n10\n", "@@ -1,10 +1,10 @@\n 1\n 2\n-3\n+x\n 4\n 5\n 6\n 7\n-8\n+y\n 9\n 10\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, Diff([]byte(c.before), []byte(c.after))); diff != "" {
				t.Errorf("diff (-want +got):\n%s", diff)
			}
		})
	}
}

// Unchanged and removed lines form the old document, and unchanged and added lines form the new one.
func TestCompareKeepsEveryLine(t *testing.T) {
	t.Parallel()
	document := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "", "d"}), 0, 20)
	rapid.Check(t, func(t *rapid.T) {
		before, after := document.Draw(t, "before"), document.Draw(t, "after")
		var old, fresh []string
		for _, e := range compare(before, after) {
			if e.sign != '+' {
				old = append(old, e.text)
			}
			if e.sign != '-' {
				fresh = append(fresh, e.text)
			}
		}
		if strings.Join(old, "\n") != strings.Join(before, "\n") || strings.Join(fresh, "\n") != strings.Join(after, "\n") {
			t.Fatalf("rebuilt %v and %v from %v and %v", old, fresh, before, after)
		}
	})
}

func TestDiffOfLargeDocumentsIsBounded(t *testing.T) {
	t.Parallel()
	before, after := strings.Repeat("a\n", MaxBytes/2), strings.Repeat("b\n", MaxBytes/2)
	if got := Diff([]byte(before), []byte(after)); strings.Count(got, "\n") != MaxBytes+1 {
		t.Errorf("diff has %d lines, want %d", strings.Count(got, "\n"), MaxBytes+1)
	}
}
