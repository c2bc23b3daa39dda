// Package secret generates and hashes API keys, tokens and passwords.
package secret

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash"
	"sync"
)

// minMasterKey is the minimum length of the master key in bytes.
const minMasterKey = 32

// Base62 contains the digits and letters.
const Base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// TokenLength is the length of a token: about 190 random bits.
const TokenLength = 32

// Token returns a random token for a session or an invitation.
func Token() string { return Random(Base62, TokenLength) }

// Random returns n characters chosen uniformly from an alphabet of at most 256 characters.
func Random(alphabet string, n int) string {
	fair := 256 - 256%len(alphabet) // larger values would favour the first characters
	text := make([]byte, 0, n)
	var draw [64]byte
	for {
		_, _ = rand.Read(draw[:]) // never fails: crypto/rand crashes the process instead
		for _, b := range draw {
			if int(b) >= fair {
				continue
			}
			text = append(text, alphabet[int(b)%len(alphabet)])
			if len(text) == n {
				return string(text)
			}
		}
	}
}

// KeyedHash hashes secrets with a key, so that guesses cannot be tested with only a copy of the database.
type KeyedHash struct{ ready *sync.Pool } // pool of hash.Hash

// NewKeyedHash derives the key for a purpose from the master key.
func NewKeyedHash(masterKey []byte, purpose string) (KeyedHash, error) {
	if len(masterKey) < minMasterKey {
		return KeyedHash{}, fmt.Errorf("the master key has %d bytes, want at least %d", len(masterKey), minMasterKey)
	}
	key, err := hkdf.Key(sha256.New, masterKey, nil, "fairlead/account/"+purpose, sha256.Size)
	if err != nil {
		return KeyedHash{}, fmt.Errorf("derive the key for %s: %w", purpose, err)
	}
	return KeyedHash{&sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}, nil
}

// Sum returns the hash of a secret.
func (h KeyedHash) Sum(secret string) [sha256.Size]byte {
	mac := h.ready.Get().(hash.Hash)
	defer h.ready.Put(mac)
	mac.Reset()
	_, _ = mac.Write([]byte(secret)) // never fails
	var sum [sha256.Size]byte
	mac.Sum(sum[:0])
	return sum
}

// Bytes returns the hash of a secret as a slice.
func (h KeyedHash) Bytes(secret string) []byte {
	sum := h.Sum(secret)
	return sum[:]
}
