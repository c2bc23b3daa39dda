package config

import (
	"crypto/tls"
	"strings"
)

// largestPEM is the maximum size of a certificate or key.
const largestPEM = 1 << 20

// Certificate loads the certificate of the public listener, or returns nil if no certificate is configured. The error is a *Problems. Load
// does not read the certificate, because other commands might not have permission to read the files, and because the files may be replaced
// while the server reloads.
func (l *Loaded) Certificate() (*tls.Certificate, error) {
	c := l.Config.TLS
	if c.Cert == "" {
		return nil, nil //nolint:nilnil // a nil certificate means that TLS is not configured
	}
	cert, err := ReadFile(c.Cert, largestPEM)
	if err != nil {
		return nil, l.problemAt("tls.cert", fault{code: MissingFile, message: "tls.cert: " + DescribeFileError(c.Cert, err), fix: "create the file and make it readable for this process"})
	}
	key, err := ReadFile(c.Key, largestPEM)
	if err != nil {
		return nil, l.problemAt("tls.key", fault{code: MissingFile, message: "tls.key: " + DescribeFileError(c.Key, err), fix: "create the file and make it readable for this process"})
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		why := strings.TrimPrefix(err.Error(), "tls: ")
		return nil, l.problemAt("tls.cert", fault{code: BadValue, message: "tls.cert and tls.key are not a valid key pair: " + why, fix: "use a certificate chain and its private key, both in PEM format"})
	}
	return &pair, nil
}

// problemAt returns a problem that was found after loading.
func (l *Loaded) problemAt(path string, wrong fault) *Problems {
	late := &loader{path: l.Path}
	late.report(path, l.Origin(path), wrong)
	return &late.problems
}
