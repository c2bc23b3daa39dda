package config

import (
	"crypto/tls"
	"strings"
)

// largestPEM bounds what a certificate or key may be.
const largestPEM = 1 << 20

// Certificate reads the certificate of the public listener; nil when there is none. The error is a *Problems. Load does not read it:
// commands that do not listen need not be able to, and at a reload its files may be about to be replaced.
func (l *Loaded) Certificate() (*tls.Certificate, error) {
	c := l.Config.TLS
	if c.Cert == "" {
		return nil, nil //nolint:nilnil // plain http
	}
	cert, err := readLimited(c.Cert, largestPEM)
	if err != nil {
		return nil, l.refuse("tls.cert", fault{code: MissingFile, message: "tls.cert: " + readFault(c.Cert, err), fix: "create the file and make it readable for this process"})
	}
	key, err := readLimited(c.Key, largestPEM)
	if err != nil {
		return nil, l.refuse("tls.key", fault{code: MissingFile, message: "tls.key: " + readFault(c.Key, err), fix: "create the file and make it readable for this process"})
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		why := strings.TrimPrefix(err.Error(), "tls: ")
		return nil, l.refuse("tls.cert", fault{code: BadValue, message: "tls.cert and tls.key are not a valid key pair: " + why, fix: "use a certificate chain and its private key, both in PEM format"})
	}
	return &pair, nil
}

// refuse is what turned out to be wrong at a path after loading.
func (l *Loaded) refuse(path string, wrong fault) *Problems {
	late := &loader{path: l.Path}
	late.report(path, l.Origin(path), wrong)
	return &late.problems
}
