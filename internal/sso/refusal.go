package sso

import (
	"context"
	"sync"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/id"
)

// Reason is a machine-readable reason why a sign-in was refused. The dashboard shows a sentence for each.
type Reason string

// Reasons for refusing a sign-in.
const (
	Disabled         Reason = "disabled"             // single sign-on is not configured
	Unavailable      Reason = "provider_unavailable" // the provider cannot be reached or fails
	Expired          Reason = "expired"              // the sign-in took too long, or its cookie is missing
	StateMismatch    Reason = "state_mismatch"       // the response belongs to another sign-in or another browser
	Denied           Reason = "denied"               // the person or the provider refused the request
	ProviderError    Reason = "provider_error"       // the provider returned another error
	CodeRejected     Reason = "code_rejected"        // the authorization code is invalid or was used before
	TokenInvalid     Reason = "token_invalid"        // signature, issuer or audience of the ID token is wrong
	TokenExpired     Reason = "token_expired"
	NonceMismatch    Reason = "nonce_mismatch" // the ID token belongs to another sign-in
	EmailMissing     Reason = "email_missing"
	EmailUnverified  Reason = "email_unverified"
	DomainNotAllowed Reason = "domain_not_allowed"
	NoGroup          Reason = "no_group"         // no group of the person is mapped to a workspace
	NoRefreshToken   Reason = "no_refresh_token" // the provider returned no refresh token, so access could not be checked again
	AccountExists    Reason = "account_exists"   // an account that is not linked to this identity has the same address
)

// RefusalError is the error of a refused sign-in or check.
type RefusalError struct {
	Reason Reason
	Detail string // detail for the audit log; contains no secrets
	Err    error  // cause; may be nil
}

func refused(reason Reason, detail string, cause error) *RefusalError {
	return &RefusalError{Reason: reason, Detail: detail, Err: cause}
}

// Error implements error.
func (r *RefusalError) Error() string {
	text := "sign-in refused (" + string(r.Reason) + "): " + r.Detail
	if r.Err != nil {
		text += ": " + r.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (r *RefusalError) Unwrap() error { return r.Err }

// cleaned truncates third-party text for the audit log and removes control characters.
func cleaned(s string) string { return account.ClientName(s) }

// refusalLimit limits the number of audit events for refused sign-ins, because unauthenticated clients can cause them.
type refusalLimit struct {
	mu    sync.Mutex
	since time.Time
	count int
}

const refusalsPerMinute = 60

func (l *refusalLimit) take(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) >= time.Minute || now.Before(l.since) {
		l.since, l.count = now, 0
	}
	l.count++
	return l.count <= refusalsPerMinute
}

// refusalFacts holds the data about a refused sign-in that is written to the audit log.
type refusalFacts struct {
	Reason  Reason `json:"reason"`
	Detail  string `json:"detail"`
	Issuer  string `json:"issuer,omitempty"`
	Subject string `json:"subject,omitempty"`
	Email   string `json:"email,omitempty"`
	IP      string `json:"ip,omitempty"`
}

// record writes a refused sign-in to the log and to the audit log of the operator's workspace.
func (s *Service) record(ctx context.Context, r *RefusalError, p person, issuer string, v account.Visitor) {
	detail := cleaned(r.Detail)
	if r.Err != nil {
		detail = cleaned(detail + ": " + r.Err.Error())
	}
	s.Log.WarnContext(ctx, "single sign-on refused", "reason", string(r.Reason), "detail", detail, "ip", v.IP)
	if !s.refusals.take(s.now()) {
		return
	}
	first, err := s.Workspaces.FirstWorkspace(ctx)
	if err == nil {
		event := s.event("sign_in.refused", cleaned(p.subject))
		event.WorkspaceID = first.ID
		event.After = facts(refusalFacts{Reason: r.Reason, Detail: detail, Issuer: issuer, Subject: cleaned(p.subject), Email: cleaned(p.email), IP: cleaned(v.IP)})
		err = s.Audit.WriteAudit(ctx, event)
	}
	if err != nil {
		s.Log.ErrorContext(ctx, "refused sign-in was not recorded", "error", err)
	}
}

// event returns an audit event caused by the identity provider.
func (s *Service) event(action, object string) account.AuditEvent {
	now := s.now()
	return account.AuditEvent{ID: id.New("aud", now), At: now, Actor: account.SingleSignOn, Action: action, Object: object}
}
