package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"

	"fairlead/internal/llm"
)

// failure converts a transport error to an error for the client. The message contains only the host of the URL, because some
// providers expect keys in the URL.
func failure(req *http.Request, err error) error {
	host := req.URL.Hostname()
	if cause := req.Context().Err(); errors.Is(cause, context.Canceled) {
		return fmt.Errorf("call %s: %w", host, cause)
	}
	if e, ok := errors.AsType[*guardError](err); ok {
		return rejection(host, e)
	}
	e := &llm.Error{Kind: llm.UpstreamConnect, Err: err}
	switch {
	case errors.Is(err, errStalled):
		e.Message = fmt.Sprintf("The connection to the provider at %s stopped responding.", host)
	case timedOut(req, err):
		e.Kind = llm.UpstreamTimeout
		e.Message = fmt.Sprintf("The provider at %s did not respond in time.", host)
	case isDNS(err):
		e.Message = fmt.Sprintf("The provider's host name %s could not be resolved.", host)
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Message = fmt.Sprintf("The provider at %s refused the connection.", host)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Message = fmt.Sprintf("The provider at %s closed the connection before responding.", host)
	case isTLS(err):
		e.Message = fmt.Sprintf("No secure connection to the provider at %s: its certificate or TLS settings were not accepted.", host)
	case isNetwork(err):
		e.Message = fmt.Sprintf("The provider at %s could not be reached.", host)
	default:
		e.Message = fmt.Sprintf("The response of the provider at %s is not HTTP, or its headers are too large.", host)
	}
	return e
}

// rejection returns the error for a host that the guard rejected.
func rejection(host string, err error) *llm.Error {
	e := llm.Errorf(llm.UpstreamConnect, "The provider at %s was not called because it has a special-purpose address. "+
		"If that is intended, add its range to allow_private_upstreams.", host)
	if g, ok := errors.AsType[*guardError](err); ok {
		e.Message = fmt.Sprintf("The provider at %s was not called: its address %s is %s. "+
			"If that is intended, add its range to allow_private_upstreams.", host, g.addr, withArticle(g.kind))
	}
	e.Err = err
	return e
}

// withArticle returns the name of a range as used in the sentence "its address … is …".
func withArticle(kind string) string {
	switch kind {
	case "private", "loopback", "link-local", "unspecified", "reserved", "multicast", "invalid":
		return kind
	default:
		return "a " + kind + " address"
	}
}

func timedOut(req *http.Request, err error) bool {
	if errors.Is(req.Context().Err(), context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	if isDNS(err) { // a resolver timeout counts as a resolution failure
		return false
	}
	netErr, ok := errors.AsType[net.Error](err)
	return ok && netErr.Timeout()
}

func isNetwork(err error) bool {
	_, ok := errors.AsType[*net.OpError](err)
	return ok
}

func isDNS(err error) bool {
	_, ok := errors.AsType[*net.DNSError](err)
	return ok
}

func isTLS(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		return true
	}
	_, ok := errors.AsType[x509.HostnameError](err)
	return ok
}
