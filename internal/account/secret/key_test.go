package secret

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestParseKeyRejectsOtherTexts(t *testing.T) {
	t.Parallel()
	good := NewKey()
	tests := []struct {
		name string
		text string
		want error
	}{
		{"a new key", good, nil},
		{"nothing", "", ErrKeyForm},
		{"prefix alone", "fl_", ErrKeyForm},
		{"another prefix", "sk_" + good[3:], ErrKeyForm},
		{"prefix in upper case", "FL_" + good[3:], ErrKeyForm},
		{"cut off", good[:len(good)-1], ErrKeyForm},
		{"one character more", good + "a", ErrKeyForm},
		{"a space inside", good[:10] + " " + good[11:], ErrKeyForm},
		{"SQL inside", "fl_'; drop table keys; --" + strings.Repeat("0", KeyLength-25), ErrKeyForm},
		{"other letters inside", good[:10] + "é" + good[12:], ErrKeyForm},
		{"checksum of another key", good[:KeyLength-checksumSize] + NewKey()[KeyLength-checksumSize:], ErrKeyChecksum},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := ParseKey(tt.text); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

// A typo is one wrong character or two adjacent characters swapped.
func TestParseKeyRecognisesEveryTypo(t *testing.T) {
	t.Parallel()
	key := NewKey()
	for i := len(KeyPrefix); i < len(key); i++ {
		for _, c := range []byte(Base62) {
			if typo := key[:i] + string(c) + key[i+1:]; typo != key && !errors.Is(ParseKey(typo), ErrKeyChecksum) {
				t.Errorf("character %d replaced by %c: not recognised", i, c)
			}
		}
		if i+1 < len(key) && key[i] != key[i+1] {
			swapped := key[:i] + string([]byte{key[i+1], key[i]}) + key[i+2:]
			if !errors.Is(ParseKey(swapped), ErrKeyChecksum) {
				t.Errorf("characters %d and %d swapped: not recognised", i, i+1)
			}
		}
	}
}

func TestKeysHaveEnoughRandomBits(t *testing.T) {
	t.Parallel()
	if bits := keyRandom * math.Log2(62); bits < 160 {
		t.Errorf("a key has %.0f random bits, want 160 or more", bits)
	}
	counts := map[rune]int{}
	const keys = 4000
	for range keys {
		for _, c := range NewKey()[len(KeyPrefix) : len(KeyPrefix)+keyRandom] {
			counts[c]++
		}
	}
	// Chi-squared with 61 degrees of freedom exceeds 130 once in a million times.
	expected := float64(keys*keyRandom) / 62
	chi := 0.0
	for _, c := range Base62 {
		chi += math.Pow(float64(counts[c])-expected, 2) / expected
	}
	if chi > 130 {
		t.Errorf("characters are unevenly drawn: chi-squared %.0f", chi)
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add("fl_")
	f.Add(NewKey())
	f.Add("fl_" + strings.Repeat("0", KeyLength-3))
	f.Add("Bearer fl_\x00")
	f.Fuzz(func(t *testing.T, s string) {
		if err := ParseKey(s); err != nil {
			return
		}
		if len(s) != KeyLength || !strings.HasPrefix(s, KeyPrefix) || KeyChecksum(s[:KeyLength-checksumSize]) != s[KeyLength-checksumSize:] {
			t.Errorf("accepted %q", s)
		}
	})
}
