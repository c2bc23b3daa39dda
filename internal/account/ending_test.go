package account

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEndingOfAKey(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	old := func(ends time.Time) Secret { return Secret{CreatedAt: begun.AddDate(0, -1, 0), ExpiresAt: ends} }
	newest := Secret{CreatedAt: begun}
	for name, c := range map[string]struct {
		key  Key
		want Ending
		over bool
	}{
		"new key":                        {Key{ID: "k", Secrets: []Secret{newest}}, Ending{}, false},
		"revoked":                        {Key{ID: "k", RevokedAt: begun, Secrets: []Secret{newest}}, Ending{KeyID: "k"}, true},
		"rotated without grace":          {Key{ID: "k", Secrets: []Secret{old(begun), newest}}, Ending{KeyID: "k", Before: begun}, true},
		"rotated with grace":             {Key{ID: "k", Secrets: []Secret{old(begun.Add(time.Hour)), newest}}, Ending{}, false},
		"rotated, older never expires":   {Key{ID: "k", Secrets: []Secret{old(time.Time{}), newest}}, Ending{}, false},
		"one of two older secrets valid": {Key{ID: "k", Secrets: []Secret{old(begun), old(begun.Add(1)), newest}}, Ending{}, false},
	} {
		got, over := c.key.Ending()
		if diff := cmp.Diff(c.want, got); diff != "" || over != c.over {
			t.Errorf("%s: over %v, want %v\n%s", name, over, c.over, diff)
		}
	}
}

func FuzzParseEnding(f *testing.F) {
	for _, e := range []Ending{{KeyID: "key_1"}, {KeyID: "key_2", Before: time.UnixMilli(1_770_000_000_000).UTC()}} {
		text, err := e.Message()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add("")
	f.Add(`{"key":""}`)
	f.Add(`{"key":"k","before":"yesterday"}`)
	f.Fuzz(func(t *testing.T, message string) {
		e, err := ParseEnding(message)
		if err != nil {
			return
		}
		if e.KeyID == "" {
			t.Fatalf("ParseEnding(%q) = %+v, which has no key ID", message, e)
		}
		text, err := e.Message()
		if err != nil {
			t.Skip("JSON cannot represent this year; another time is drawn")
		}
		again, err := ParseEnding(text)
		if err != nil || strings.ToValidUTF8(again.KeyID, "") != strings.ToValidUTF8(e.KeyID, "") || !again.Before.Equal(e.Before) {
			t.Fatalf("%q read as %+v and written as %q: %+v, %v", message, e, text, again, err)
		}
	})
}
