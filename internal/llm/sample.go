package llm

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	sampleWindows = 64
	sampleWindow  = 64      // size of a measured window in bytes
	wholeSample   = 4 << 10 // maximum bytes of a prompt that is measured completely
)

// weightedCounts holds a weighted sum of character counts.
type weightedCounts struct {
	counts [Classes]float64
	bytes  float64
}

// addText measures a text. cut is true if its beginning is missing.
func (t *weightedCounts) addText(text string, weight float64, cut bool) {
	var one Text
	one.measure(text, cut)
	for class, n := range one.Counts {
		t.counts[class] += float64(n) * weight
	}
	t.bytes += float64(len(text)) * weight
}

// unescape decodes a JSON string for counting. It takes a tenth of the time of encoding/json: 21 µs instead of 220 µs for 10 KB of text
// (BenchmarkUnescape). Unlike rawjson.Unescape, it accepts a string that ends inside an escape: it drops the truncated escape and counts
// half of a surrogate pair as the whole character.
func unescape(dst, raw []byte) []byte {
	for len(raw) > 0 {
		if raw[0] != '\\' {
			n := bytes.IndexByte(raw, '\\')
			if n < 0 {
				n = len(raw)
			}
			dst, raw = append(dst, raw[:n]...), raw[n:]
			continue
		}
		if len(raw) < 2 || raw[1] == 'u' && len(raw) < len(`\u0000`) {
			return dst
		}
		if raw[1] == 'u' {
			r := hex4(raw[2:6])
			raw = raw[6:]
			if utf16.IsSurrogate(r) { // a pair is one character of four bytes
				if r >= lowSurrogate {
					continue
				}
				r = utf16.DecodeRune(r, lowSurrogate)
			}
			dst = utf8.AppendRune(dst, r)
			continue
		}
		c := raw[1]
		switch c {
		case 'n', 'r':
			c = '\n'
		case 't':
			c = '\t'
		}
		dst, raw = append(dst, c), raw[2:]
	}
	return dst
}

const lowSurrogate = 0xDC00

func hex4(b []byte) (r rune) {
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		default:
			r = r<<4 | rune(c|0x20-'a'+10)&0xF
		}
	}
	return r
}
