package bundle

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// ErrSignature is returned for a catalog file without a valid signature by one of the public keys.
var ErrSignature = errors.New("the signature does not match")

// ErrSum is returned for a catalog file whose SHA-256 differs from the pinned one.
var ErrSum = errors.New("the SHA-256 does not match")

// GenerateKey returns a new Ed25519 key pair: the public key in base64 and the secret key as PKCS #8 in PEM, as openssl writes it.
func GenerateKey() (public string, secret []byte, err error) {
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", nil, fmt.Errorf("generate key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", nil, fmt.Errorf("encode key: %w", err)
	}
	return base64.StdEncoding.EncodeToString(pub), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// ParseSecret parses a secret key in the format that GenerateKey returns.
func ParseSecret(text []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("parse secret key: not a PEM file")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse secret key: %w", err)
	}
	secret, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("parse secret key: not an Ed25519 key")
	}
	return secret, nil
}

// Public returns the public key of a secret key in base64.
func Public(secret ed25519.PrivateKey) string {
	return base64.StdEncoding.EncodeToString(secret.Public().(ed25519.PublicKey))
}

// ParsePublic parses a public key in base64.
func ParsePublic(text string) (ed25519.PublicKey, error) {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("parse public key: not %d bytes in base64", ed25519.PublicKeySize)
	}
	return raw, nil
}

// Sign returns the detached signature of a catalog file in base64.
func Sign(text []byte, secret ed25519.PrivateKey) string {
	return base64.StdEncoding.EncodeToString(ed25519.Sign(secret, text))
}

// Verify returns ErrSignature unless one of the public keys has signed the text.
func Verify(text []byte, signature string, publicKeys []string) error {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(signature))
	if err != nil || len(raw) != ed25519.SignatureSize {
		return fmt.Errorf("%w: the signature is not %d bytes in base64", ErrSignature, ed25519.SignatureSize)
	}
	for _, one := range publicKeys {
		key, err := ParsePublic(one)
		if err != nil {
			return err
		}
		if ed25519.Verify(key, text, raw) {
			return nil
		}
	}
	return ErrSignature
}

// Sum returns the SHA-256 of a catalog file in hexadecimal.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
