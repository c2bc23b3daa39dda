// Package id creates time-ordered IDs for requests, keys and accounts. An ID consists of a prefix, an underscore and 26
// characters of Crockford base 32 (48 bits of milliseconds, 80 random bits).
package id

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"
	"time"
)

var crockford = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// New returns an ID such as "req_01JCX5T4M5D9X0Q3W8Z6F2V7RB". IDs sort by creation time.
func New(prefix string, now time.Time) string {
	var random [10]byte
	_, _ = rand.Read(random[:]) // never fails: crypto/rand crashes the process instead
	return encode(prefix, now, random)
}

// Derive returns an ID that depends only on its arguments.
func Derive(prefix string, t time.Time, text string) string {
	sum := sha256.Sum256([]byte(text))
	return encode(prefix, t, [10]byte(sum[:10]))
}

// Floor returns the smallest ID that New can return at time t. IDs created earlier sort before it.
func Floor(prefix string, t time.Time) string {
	return encode(prefix, t, [10]byte{})
}

func encode(prefix string, t time.Time, random [10]byte) string {
	var raw [17]byte // 17 bytes hold the 130 bits of 26 characters: two zero bits and the 128 bits of the value, as in a ULID
	ms := uint64(max(t.UnixMilli(), 0))
	var value [16]byte
	for i := range 6 {
		value[i] = byte(ms >> (8 * (5 - i)))
	}
	copy(value[6:], random[:])
	// Shift right by two bits, so that the 128 bits are aligned to the end of 26 characters of five bits.
	var carry byte
	for i, b := range value {
		raw[i] = carry | b>>2
		carry = b << 6
	}
	raw[16] = carry
	var text [28]byte
	crockford.Encode(text[:], raw[:])
	return prefix + "_" + string(text[:26])
}

// Time returns the creation time of an ID. It returns false if s is not an ID.
func Time(s string) (time.Time, bool) {
	if len(s) < 27 || s[len(s)-27] != '_' {
		return time.Time{}, false
	}
	text := s[len(s)-26:]
	if text[0] > '7' || strings.ContainsAny(text, "\r\n") { // reject values above 128 bits, and line breaks, which the decoder would skip
		return time.Time{}, false
	}
	raw, err := crockford.DecodeString(text + "00")
	if err != nil {
		return time.Time{}, false
	}
	var ms uint64
	for i := range 6 {
		ms = ms<<8 | uint64(raw[i]<<2|raw[i+1]>>6)
	}
	return time.UnixMilli(int64(ms)), true
}
