package llm

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLazyTextDecodesJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "plain", "a \"quoted\" line\nand \\ another", "größer 北京", strings.Repeat("é\n", 100)} {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := RawText(quoted[1 : len(quoted)-1]).Text(1 << 20); got != text {
			t.Errorf("RawText of %q has text %q", text, got)
		}
	}
}

func TestLongLazyTextKeepsBeginningAndEnd(t *testing.T) {
	t.Parallel()
	text := "begin " + strings.Repeat("über \"all\"\n", 1000) + " end"
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	for limit := 20; limit < 60; limit++ {
		got := RawText(quoted[1 : len(quoted)-1]).Text(limit)
		if len(got) > limit+1 || !strings.HasPrefix(got, "begin") || !strings.HasSuffix(got, "end") || !utf8.ValidString(got) {
			t.Fatalf("limit %d: %q, want the beginning and the end", limit, got)
		}
	}
}

func FuzzLazyText(f *testing.F) {
	f.Add([]byte(`a\nb\u00e9\ud83d\ude00\\`), 5)
	f.Fuzz(func(t *testing.T, raw []byte, limit int) {
		limit = max(4, limit%1000)
		if got := RawText(raw).Text(limit); len(got) > 3*limit+8 {
			t.Errorf("text has %d bytes with limit %d", len(got), limit)
		}
	})
}
