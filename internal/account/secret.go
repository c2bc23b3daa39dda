package account

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash"
	"sync"
)

// minMasterKey is the least number of bytes that keyed hashes are derived from.
const minMasterKey = 32

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// tokenLength gives the tokens of sessions and invitations about 190 random bits.
const tokenLength = 32

// randomText returns n characters of an alphabet of at most 256, each equally likely.
func randomText(alphabet string, n int) string {
	fair := 256 - 256%len(alphabet) // above it the first characters would come more often
	text := make([]byte, 0, n)
	var draw [64]byte
	for {
		_, _ = rand.Read(draw[:]) // never fails: crypto/rand ends the process instead
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

// keyedHash hashes secrets of one purpose so that a copy of the database is not enough to test guesses.
// Hashes that are ready with the key are used again.
type keyedHash struct{ ready *sync.Pool }

func newKeyedHash(masterKey []byte, purpose string) (keyedHash, error) {
	if len(masterKey) < minMasterKey {
		return keyedHash{}, fmt.Errorf("the master key has %d bytes, and at least %d are needed", len(masterKey), minMasterKey)
	}
	key, err := hkdf.Key(sha256.New, masterKey, nil, "fairlead/account/"+purpose, sha256.Size)
	if err != nil {
		return keyedHash{}, fmt.Errorf("derive the key for %s: %w", purpose, err)
	}
	return keyedHash{&sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}, nil
}

func (h keyedHash) sum(secret string) [sha256.Size]byte {
	mac := h.ready.Get().(hash.Hash)
	defer h.ready.Put(mac)
	mac.Reset()
	_, _ = mac.Write([]byte(secret)) // a hash takes everything
	var sum [sha256.Size]byte
	mac.Sum(sum[:0])
	return sum
}

func (h keyedHash) bytes(secret string) []byte {
	sum := h.sum(secret)
	return sum[:]
}
