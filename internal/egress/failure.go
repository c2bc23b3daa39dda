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

	"fairlead.dev/internal/llm"
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
	case errors.As(err, new(*net.DNSError)):
		e.Message = fmt.Sprintf("The provider's host name %s could not be resolved.", host)
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Message = fmt.Sprintf("The provider at %s refused the connection.", host)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Message = fmt.Sprintf("The provider at %s closed the connection before responding.", host)
	case errors.As(err, new(*tls.CertificateVerificationError)), errors.As(err, new(tls.RecordHeaderError)),
		errors.As(err, new(tls.AlertError)), errors.As(err, new(x509.HostnameError)):
		e.Message = fmt.Sprintf("No secure connection to the provider at %s: its certificate or TLS settings were not accepted.", host)
	case errors.As(err, new(*net.OpError)):
		e.Message = fmt.Sprintf("The provider at %s could not be reached.", host)
	default:
		e.Message = fmt.Sprintf("The provider at %s sent a response that is not HTTP, or its headers are too large.", host)
	}
	return e
}

// rejection returns the error for a host that the guard rejected.
func rejection(host string, err error) *llm.Error {
	e := llm.Errorf(llm.UpstreamConnect, "The provider at %s was not called because it has a special-purpose address. "+
		"If that is intended, add its range to allow_private_upstreams.", host)
	if g, ok := errors.AsType[*guardError](err); ok {
		kind := g.kind
		switch kind {
		case "private", "loopback", "link-local", "unspecified", "reserved", "multicast", "invalid":
		default:
			kind = "a " + kind + " address"
		}
		e.Message = fmt.Sprintf("The provider at %s was not called: its address %s is %s. "+
			"If that is intended, add its range to allow_private_upstreams.", host, g.addr, kind)
		if kind == "loopback" {
			e.Message += " An owner can also allow a local server when connecting it in the dashboard."
		}
	}
	e.Err = err
	return e
}

func timedOut(req *http.Request, err error) bool {
	if errors.Is(req.Context().Err(), context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	if errors.As(err, new(*net.DNSError)) { // a resolver timeout counts as a resolution failure
		return false
	}
	netErr, ok := errors.AsType[net.Error](err)
	return ok && netErr.Timeout()
}
