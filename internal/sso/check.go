package sso

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
)

// Intervals and limits of the checks.
const (
	tick       = 5 * time.Second
	activeTime = 10 * time.Minute // time for which a person counts as active after the last use of a session or key
	claimTime  = 30 * time.Second // time for which a replica reserves a check; longer than the calls of one check
	claimWait  = 5 * time.Second  // maximum time that a request waits for a check by another replica
	claimPoll  = 100 * time.Millisecond
	dueLimit   = 500
	parallel   = 8
)

// Run checks active users until ctx is cancelled.
func (s *Service) Run(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.CheckDue(ctx)
		}
	}
}

// CheckDue checks the active users whose last check is older than the interval. A user is active while a session or an API key of
// the account is in use.
func (s *Service) CheckDue(ctx context.Context) {
	c := s.active.Load()
	if c == nil || c.down() {
		return
	}
	if _, err := c.discover(ctx); err != nil {
		c.markDown()
		s.Log.WarnContext(ctx, "identity provider unavailable, retrying", "error", err.Error())
		return
	}
	now := s.now()
	due, err := s.Store.DueIdentities(ctx, Due{
		Issuer: c.options.Issuer, CheckedBefore: now.Add(-c.options.Recheck), ActiveSince: now.Add(-activeTime), Now: now, Limit: dueLimit,
	})
	if err != nil {
		s.Log.WarnContext(ctx, "background task failed, retrying", "task", "list identities to check", "error", err.Error())
		return
	}
	var running sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for _, i := range due {
		if ctx.Err() != nil || c.down() {
			break
		}
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			if _, err := s.check(ctx, c, i); err != nil && ctx.Err() == nil {
				s.Log.WarnContext(ctx, "identity check failed", "account", i.AccountID, "error", err.Error())
			}
		})
	}
	running.Wait()
}

// Check asks the provider to confirm a session if the last confirmation has expired. Concurrent calls for one account share a check. It
// returns SignInRequired if the provider refuses or cannot be reached.
func (s *Service) Check(ctx context.Context, session account.Session) error {
	_, err, _ := s.checks.Do(session.AccountID+"\n"+session.Issuer, func() (any, error) {
		// The check continues if the first caller disconnects, because other callers wait for its result. The provider may also
		// have invalidated the refresh token already, and then the new token must be stored.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout+claimWait)
		defer cancel()
		return nil, s.confirm(ctx, session)
	})
	return err
}

func (s *Service) confirm(ctx context.Context, session account.Session) error {
	c := s.active.Load()
	if c == nil || c.options.Issuer != session.Issuer {
		return llm.Errorf(llm.SignInRequired, "This session belongs to an identity provider that was removed from the configuration. Sign in again.")
	}
	for waited := time.Duration(0); ; waited += claimPoll {
		i, err := s.Store.IdentityOf(ctx, session.AccountID, session.Issuer)
		switch {
		case errors.Is(err, account.ErrNotFound):
			return llm.Errorf(llm.SignInRequired, "Sign in to continue.")
		case err != nil:
			return err
		case s.now().Before(i.CheckedUntil):
			return nil
		case c.down():
			return unconfirmed()
		}
		claimed, err := s.check(ctx, c, i)
		if r, ok := errors.AsType[*RefusalError](err); ok && r.Reason != Unavailable {
			return llm.Errorf(llm.SignInRequired, "The identity provider ended your access. Sign in again.")
		}
		if err != nil {
			s.Log.WarnContext(ctx, "identity check failed", "account", i.AccountID, "error", err.Error())
			return unconfirmed()
		}
		if claimed {
			return nil
		}
		if waited >= claimWait {
			return unconfirmed()
		}
		select { // another replica is checking this identity, so wait and read its result
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(claimPoll):
		}
	}
}

func unconfirmed() error {
	return llm.Errorf(llm.SignInRequired, "The identity provider could not confirm your access. Sign in again or retry later.")
}

// check asks the provider for the current claims of a person and applies them. It reports false if another replica is checking the person.
// A *RefusalError other than Unavailable means that the sessions have ended.
func (s *Service) check(ctx context.Context, c *connection, i Identity) (bool, error) {
	now := s.now()
	claimed, err := s.Store.ClaimIdentity(ctx, i, now, now.Add(claimTime))
	if err != nil || !claimed {
		return false, err
	}
	result := Result{Identity: i, Old: i.Refresh, Event: s.event("", i.AccountID)}
	user, refresh, err := s.refresh(ctx, c, i)
	if refresh != nil {
		result.Identity.Refresh = refresh
	}
	r, isRefusal := errors.AsType[*RefusalError](err)
	switch {
	case isRefusal && r.Reason == NoGroup: // the account loses every membership that a group granted
		result.Identity.CheckedAt, result.Identity.CheckedUntil = now, time.Time{}
	case isRefusal && r.Reason == Unavailable:
		c.markDown()
		result.Failed = true
	case isRefusal:
		return true, errors.Join(s.end(ctx, i, r), r)
	case err != nil:
		return true, err
	default:
		result.Identity.CheckedAt, result.Identity.CheckedUntil = now, now.Add(2*c.options.Recheck)
		if result.Grants, err = s.resolve(ctx, c.options, user.groups); err != nil {
			return true, err
		}
	}
	out, err := s.Store.ConfirmIdentity(ctx, result)
	if err == nil && (len(out.Revoked) > 0 || len(out.Unknown) > 0) {
		s.apply(ctx, out)
	}
	if isRefusal {
		err = errors.Join(err, r)
	}
	return true, err
}

// end ends the sessions of an identity that the provider refuses. Memberships and keys stay, because a provider returns the same error
// when its own session has expired.
func (s *Service) end(ctx context.Context, i Identity, r *RefusalError) error {
	event := s.event("session.refused", i.AccountID)
	event.After = facts(refusalFacts{Reason: r.Reason, Detail: cleaned(r.Detail), Issuer: i.Issuer, Subject: i.Subject})
	if first, err := s.Workspaces.FirstWorkspace(ctx); err == nil {
		event.WorkspaceID = first.ID
	}
	return s.Store.EndIdentity(ctx, i, event)
}

// refresh exchanges the refresh token for the current claims of the person. It returns the new refresh token, sealed.
func (s *Service) refresh(ctx context.Context, c *connection, i Identity) (person, []byte, error) {
	stored, err := s.Sealer.Unseal(kindRefresh, i.Subject, i.Refresh)
	if err != nil {
		return person{}, nil, refused(Expired, "the identity has no usable refresh token", nil)
	}
	p, err := c.discover(ctx)
	if err != nil {
		return person{}, nil, refused(Unavailable, "the identity provider cannot be reached", err)
	}
	token, err := c.oauth(p, "").TokenSource(c.context(ctx), &oauth2.Token{RefreshToken: stored}).Token()
	if err != nil {
		r := exchangeRefusal(err)
		if r.Reason == ProviderError { // for example invalid_client after a configuration change; the error does not concern the person
			r.Reason = Unavailable
		}
		return person{}, nil, r
	}
	sealed := i.Refresh
	if token.RefreshToken != "" && token.RefreshToken != stored {
		sealed = s.Sealer.Seal(kindRefresh, i.Subject, token.RefreshToken)
	}
	user, err := s.refreshed(ctx, c, token, i)
	return user, sealed, err
}

// refreshed returns the person that a refresh response describes. The response may lack an ID token.
func (s *Service) refreshed(ctx context.Context, c *connection, token *oauth2.Token, i Identity) (person, error) {
	p, err := c.discover(ctx)
	if err != nil {
		return person{}, refused(Unavailable, "the identity provider cannot be reached", err)
	}
	if raw, _ := token.Extra("id_token").(string); raw != "" {
		verified, err := s.idToken(ctx, c, p, token, "")
		if err != nil {
			return person{}, err
		}
		if verified.Subject != i.Subject {
			return person{}, refused(TokenInvalid, "the refresh response belongs to another subject", nil)
		}
		return c.read(ctx, p, verified, token)
	}
	user, err := c.read(ctx, p, nil, token)
	if user.subject != i.Subject && user.subject != "" {
		return person{}, refused(TokenInvalid, "the refresh response belongs to another subject", nil)
	}
	return user, err
}
