package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// makeCertificate writes NAME.crt and NAME.key.
func makeCertificate(t *testing.T, dir, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	cert, certErr := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	secret, keyErr := x509.MarshalPKCS8PrivateKey(key)
	if err := errors.Join(certErr, keyErr); err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: cert}, ".key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(filepath.Join(dir, name+file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCertificateIsReadOrExplained(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeCertificate(t, dir, "a")
	makeCertificate(t, dir, "b")
	for name, c := range map[string]struct{ cert, key, want string }{
		"both":         {"a.crt", "a.key", ""},
		"no such cert": {"no.crt", "a.key", "line 2: tls.cert: the file DIR/no.crt does not exist"},
		"no such key":  {"a.crt", "no.key", "line 3: tls.key: the file DIR/no.key does not exist"},
		"another key":  {"a.crt", "b.key", "line 2: tls.cert and tls.key are not a valid key pair: private key does not match public key"},
		"swapped":      {"a.key", "a.crt", "line 2: tls.cert and tls.key are not a valid key pair: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loaded := mustLoad(t, Options{Path: write(t, fmt.Sprintf("tls:\n  cert: %s/%s\n  key: %s/%s\n", dir, c.cert, dir, c.key))})
			pair, err := loaded.Certificate()
			if c.want == "" {
				if err != nil || pair == nil {
					t.Errorf("Certificate = %v, %v; want a certificate", pair, err)
				}
				return
			}
			problems, ok := errors.AsType[*Problems](err)
			if !ok || !strings.Contains(err.Error(), strings.ReplaceAll(c.want, "DIR", dir)) || !strings.Contains(problems.Pretty(), "then run  fairlead config check") {
				t.Errorf("got error %v, want %s", err, c.want)
			}
		})
	}
	if pair, err := mustLoad(t, Options{Path: write(t, "")}).Certificate(); pair != nil || err != nil {
		t.Errorf("Certificate without configuration = %v, %v; want nil, nil", pair, err)
	}
}
