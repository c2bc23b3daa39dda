package secret

import (
	"errors"
	"hash/crc32"
	"strings"
)

// Format of a key: prefix, random characters (about 190 bits), checksum.
const (
	KeyPrefix    = "fl_"
	keyRandom    = 32
	checksumSize = 6
	KeyLength    = len(KeyPrefix) + keyRandom + checksumSize
)

// Errors returned by ParseKey.
var (
	ErrKeyForm     = errors.New("invalid key format")
	ErrKeyChecksum = errors.New("key checksum does not match")
)

// NewKey generates a key.
func NewKey() string {
	text := KeyPrefix + Random(Base62, keyRandom)
	return text + KeyChecksum(text)
}

// ParseKey validates the format of a key. It returns ErrKeyForm or ErrKeyChecksum.
func ParseKey(s string) error {
	if len(s) != KeyLength || !strings.HasPrefix(s, KeyPrefix) {
		return ErrKeyForm
	}
	for i := len(KeyPrefix); i < len(s); i++ {
		c := s[i]
		if base62 := '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'; !base62 {
			return ErrKeyForm
		}
	}
	body := s[:KeyLength-checksumSize]
	if KeyChecksum(body) != s[len(body):] {
		return ErrKeyChecksum
	}
	return nil
}

// KeyChecksum returns the checksum of s, which forms the last characters of a key.
func KeyChecksum(s string) string {
	sum := crc32.ChecksumIEEE([]byte(s))
	var text [checksumSize]byte
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = Base62[sum%62]
		sum /= 62
	}
	return string(text[:])
}
