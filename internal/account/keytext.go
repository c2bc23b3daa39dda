package account

import (
	"errors"
	"hash/crc32"
	"strings"
)

// Format of a key: prefix, random characters (about 190 bits), checksum.
const (
	keyPrefix    = "fl_"
	keyRandom    = 32
	checksumSize = 6
	keyLength    = len(keyPrefix) + keyRandom + checksumSize
)

// Errors of ParseKey.
var (
	ErrKeyForm     = errors.New("not in the form of a key")
	ErrKeyChecksum = errors.New("the checksum of the key does not match")
)

// newKeyText generates a key.
func newKeyText() string {
	text := keyPrefix + randomText(base62, keyRandom)
	return text + checksum(text)
}

// ParseKey validates the format of a key. It returns ErrKeyForm or ErrKeyChecksum.
func ParseKey(s string) error {
	if len(s) != keyLength || !strings.HasPrefix(s, keyPrefix) {
		return ErrKeyForm
	}
	for i := len(keyPrefix); i < len(s); i++ {
		if !isBase62(s[i]) {
			return ErrKeyForm
		}
	}
	body := s[:keyLength-checksumSize]
	if checksum(body) != s[len(body):] {
		return ErrKeyChecksum
	}
	return nil
}

// looksLikeKey reports whether a header value has the prefix of a key.
func looksLikeKey(s string) bool { return strings.HasPrefix(s, keyPrefix) }

func checksum(s string) string {
	sum := crc32.ChecksumIEEE([]byte(s))
	var text [checksumSize]byte
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = base62[sum%62]
		sum /= 62
	}
	return string(text[:])
}

func isBase62(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
