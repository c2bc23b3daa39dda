// Package outline splits request bodies into parts that the turns of a conversation share, and joins them again. Every turn of
// an agent repeats the messages of the previous turns. The outline of a turn contains references to them instead of their text.
//
// A part is a long JSON string, a run of elements of an array such as messages or tools, or a list of references to other parts. It is
// addressed by a keyed hash of its bytes. An outline is a sequence of steps: each step is some text of the body, followed by the address
// of the part that comes after the text. A list has the same form. A block is a sequence of encoded parts. Joining an outline restores
// the body byte for byte.
package outline

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"
)

// AddressSize is the length of an address in bytes.
const AddressSize = 16

// Address identifies a part within a workspace and a day.
type Address [AddressSize]byte

// Kind is the type of the part that a step refers to, or Text for a step without a part.
type Kind byte

// The kinds of steps: text without a part, a JSON string, a run of JSON text, and a list of steps.
const (
	Text Kind = iota
	String
	Run
	List
)

// ErrCorrupt reports an outline or a block of parts that cannot be decoded.
var ErrCorrupt = errors.New("corrupt outline")

// Key computes addresses. Without the key, an address reveals nothing about the text of its part. This is necessary because an address
// is computed from the text before redaction.
type Key struct {
	mac  cipher.AEAD
	last cipher.Block
}

// NewKey derives a key from the master key of the instance, so that replicas compute equal addresses.
func NewKey(master []byte) (*Key, error) {
	derived, err := hkdf.Key(sha256.New, master, nil, "fairlead/outline", 64)
	if err != nil {
		return nil, fmt.Errorf("derive the key of message addresses: %w", err)
	}
	first, err := aes.NewCipher(derived[:32])
	if err != nil {
		return nil, err
	}
	last, err := aes.NewCipher(derived[32:])
	if err != nil {
		return nil, err
	}
	mac, err := cipher.NewGCM(first)
	if err != nil {
		return nil, err
	}
	return &Key{mac: mac, last: last}, nil
}

// Scope returns a Scope for a name. Equal content has different addresses in different scopes.
func (k *Key) Scope(name string) Scope {
	sum := sha256.Sum256([]byte(name))
	return Scope{key: k, tweak: Address(sum[:AddressSize])}
}

// Scope computes the addresses of parts that may be shared: parts of one workspace that were redacted by the same rules.
type Scope struct {
	key   *Key
	tweak Address
}

// address returns the address of a part. The GCM authentication tag is a universal hash with a secret key, at several gigabytes per
// second. Because the nonce repeats, the tag alone is not a pseudorandom function; encrypting the tag makes it one.
func (s Scope) address(kind Kind, content []byte) Address {
	h := hashes.Get().(*hash)
	defer hashes.Put(h)
	h.nonce[0] = 0
	if kind == List {
		h.nonce[0] = 1
	}
	s.key.mac.Seal(h.sum[:0], h.nonce[:], nil, content)
	subtle.XORBytes(h.sum[:], h.sum[:], s.tweak[:])
	s.key.last.Encrypt(h.sum[:], h.sum[:])
	return h.sum
}

// hash holds the buffers of one call to address. They are pooled, because arguments of the ciphers escape to the heap.
type hash struct {
	nonce [12]byte
	sum   Address
}

var hashes = sync.Pool{New: func() any { return &hash{} }}

// DayOf returns the UTC day of a time as the number of days since the Unix epoch. Parts are shared within a day, so that a day can be
// deleted as a whole.
func DayOf(t time.Time) int64 { return t.Unix() / (24 * 60 * 60) }

// appendStep encodes one step: the length of its text with its kind, the text, and the address of its part.
func appendStep(to, text []byte, kind Kind, a Address) []byte {
	to = binary.AppendUvarint(to, uint64(len(text))<<2|uint64(kind))
	to = append(to, text...)
	if kind == Text {
		return to
	}
	return append(to, a[:]...)
}

// Each calls fn for every step of an outline or a list, with the text before the part, and the kind and address of the part.
func Each(steps []byte, fn func(text []byte, kind Kind, a Address) error) error {
	for len(steps) > 0 {
		head, width := binary.Uvarint(steps)
		size, kind := head>>2, Kind(head&3)
		if width <= 0 || size > uint64(len(steps)-width) {
			return ErrCorrupt
		}
		text := steps[width : width+int(size)]
		steps = steps[width+int(size):]
		var a Address
		if kind != Text {
			if len(steps) < AddressSize {
				return ErrCorrupt
			}
			a, steps = Address(steps[:AddressSize]), steps[AddressSize:]
		}
		if err := fn(text, kind, a); err != nil {
			return err
		}
	}
	return nil
}

// Edit applies a function to the text of each step and returns the changed steps. Addresses do not change.
func Edit(steps []byte, text func([]byte) []byte) ([]byte, error) {
	out := make([]byte, 0, len(steps))
	err := Each(steps, func(before []byte, kind Kind, a Address) error {
		if len(before) > 0 {
			before = text(before)
		}
		out = appendStep(out, before, kind, a)
		return nil
	})
	return out, err
}

// Part holds the content of a part, which is JSON text or the encoded steps of a list, and its address.
type Part struct {
	Address Address
	Kind    Kind
	Content []byte
}

// AppendPart encodes a part.
func AppendPart(to []byte, p Part) []byte {
	to = append(append(to, p.Address[:]...), byte(p.Kind))
	return append(binary.AppendUvarint(to, uint64(len(p.Content))), p.Content...)
}

// EachPart calls fn for every part of a block written by AppendPart. The contents of the parts share memory with the block.
func EachPart(block []byte, fn func(Part) error) error {
	for len(block) > 0 {
		if len(block) < AddressSize+1 {
			return ErrCorrupt
		}
		p := Part{Address: Address(block[:AddressSize]), Kind: Kind(block[AddressSize])}
		size, width := binary.Uvarint(block[AddressSize+1:])
		block = block[AddressSize+1:]
		if width <= 0 || size > uint64(len(block)-width) {
			return ErrCorrupt
		}
		end := width + int(size)
		p.Content, block = block[width:end:end], block[end:]
		if err := fn(p); err != nil {
			return err
		}
	}
	return nil
}
