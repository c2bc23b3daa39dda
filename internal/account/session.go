package account

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"fairlead.dev/internal/account/secret"
	"fairlead.dev/internal/llm"
)

// Session lifetime.
const (
	sessionLife  = 30 * 24 * time.Hour // maximum lifetime
	sessionIdle  = 7 * 24 * time.Hour  // maximum time without use
	sessionTouch = time.Minute         // precision of SeenAt
)

// ID returns the session's ID in lists. The ID is not the token.
func (s Session) ID() string { return hex.EncodeToString(s.TokenHash[:min(len(s.TokenHash), 8)]) }

func (s *Service) newSession(accountID string, v Visitor) (token string, session Session) {
	token = secret.Token()
	now := s.now()
	return token, Session{
		TokenHash: s.sessionHash.Bytes(token), AccountID: accountID, Client: ClientName(v.Client), IP: ClientName(v.IP),
		CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(sessionIdle),
	}
}

// Session returns the session with the given token and its account. It records the use and extends the session. If the
// session was started through an identity provider, the provider must confirm it again when the last confirmation has expired.
func (s *Service) Session(ctx context.Context, token string) (Account, Session, error) {
	if len(token) != secret.TokenLength {
		return Account{}, Session{}, signInRequired()
	}
	session, account, err := s.store.Sessions.SessionByHash(ctx, s.sessionHash.Bytes(token))
	if errors.Is(err, ErrNotFound) {
		return Account{}, Session{}, signInRequired()
	}
	if err != nil {
		return Account{}, Session{}, fmt.Errorf("look up a session: %w", err)
	}
	now := s.now()
	if !now.Before(session.ExpiresAt) || session.Issuer == "" && !s.passwords(account.Email) {
		return Account{}, Session{}, signInRequired()
	}
	if session.Issuer != "" && !now.Before(session.CheckedUntil) {
		if err := s.recheck(ctx, session); err != nil {
			return Account{}, Session{}, err
		}
	}
	if now.Sub(session.SeenAt) >= sessionTouch {
		session.SeenAt, session.ExpiresAt = now, now.Add(sessionIdle)
		if last := session.CreatedAt.Add(sessionLife); session.ExpiresAt.After(last) {
			session.ExpiresAt = last
		}
		if err := s.store.Sessions.TouchSession(ctx, session.TokenHash, session.SeenAt, session.ExpiresAt); err != nil {
			return Account{}, Session{}, fmt.Errorf("keep a session alive: %w", err)
		}
	}
	return account, session, nil
}

func signInRequired() error {
	return llm.Errorf(llm.SignInRequired, "Sign in to continue.")
}

// Logout ends the session with the given token. An unknown token is not an error.
func (s *Service) Logout(ctx context.Context, token string) error {
	account, session, err := s.Session(ctx, token)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Kind == llm.SignInRequired {
		return nil
	}
	if err != nil {
		return err
	}
	err = s.EndSession(ctx, account.ID, session.ID())
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Sessions lists the active sessions of an account, most recently used first.
func (s *Service) Sessions(ctx context.Context, accountID string) ([]Session, error) {
	all, err := s.store.Sessions.SessionsOf(ctx, accountID)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	now := s.now()
	valid := []Session{}
	for _, session := range all {
		if now.Before(session.ExpiresAt) {
			valid = append(valid, session)
		}
	}
	return valid, nil
}

// EndSession ends one session of the account.
func (s *Service) EndSession(ctx context.Context, accountID, sessionID string) error {
	sessions, err := s.store.Sessions.SessionsOf(ctx, accountID)
	if err != nil {
		return fmt.Errorf("list sessions: %w", err)
	}
	for _, session := range sessions {
		if session.ID() == sessionID {
			return wrapStoreError(s.store.Sessions.DeleteSession(ctx, accountID, session.TokenHash), "session", "end a session")
		}
	}
	return missing("session")
}
