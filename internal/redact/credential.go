package redact

import "bytes"

const (
	// MinCredential is the minimum length of a credential that is masked. The gateway rejects shorter credentials, because they would match
	// ordinary text.
	MinCredential = 8

	// minPart is the minimum length of the beginning of a credential that is masked alone. Vendors shorten keys in error messages, and all
	// keys of a vendor share a short prefix.
	minPart = 16

	mask = '*'
)

// Masker masks credentials, which vendors repeat in errors and in responses. A nil Masker finds nothing.
type Masker [][]byte

// NewMasker returns a Masker for the credentials, or nil if none is long enough.
func NewMasker(secrets ...string) Masker {
	var m Masker
	for _, s := range secrets {
		if len(s) >= MinCredential {
			m = append(m, []byte(s))
		}
	}
	return m
}

// Mask returns data with stars in place of the credentials and of their first halves. The length stays the same. If nothing was masked, the
// result is data itself, otherwise a copy.
func (m Masker) Mask(data []byte) []byte {
	masked := data
	for _, secret := range m {
		part := secret[:max(min(minPart, len(secret)), len(secret)/2)]
		for from := 0; ; {
			at := bytes.Index(data[from:], part)
			if at < 0 {
				break
			}
			if &masked[0] == &data[0] {
				masked = bytes.Clone(data)
			}
			at += from
			for from = at; from < len(data) && from-at < len(secret) && data[from] == secret[from-at]; from++ {
				masked[from] = mask
			}
		}
	}
	return masked
}

// Text is like Mask for a string.
func (m Masker) Text(s string) string {
	if len(m) == 0 || s == "" {
		return s
	}
	return string(m.Mask([]byte(s)))
}

// Credentials masks the credentials in data like a Masker.
func Credentials(data []byte, secrets ...string) []byte {
	return NewMasker(secrets...).Mask(data)
}
