package account

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fairlead.dev/internal/account/secret"
	"fairlead.dev/internal/llm"
)

// ProfileChange holds changed settings of an account; nil fields are unchanged.
type ProfileChange struct {
	Name     *string
	TimeZone *string
}

type accountView struct {
	Email    string `json:"email"`
	Name     string `json:"name"`
	TimeZone string `json:"time_zone"`
}

func accountFacts(a Account) accountView {
	return accountView{Email: a.Email, Name: a.Name, TimeZone: a.TimeZone}
}

// Account returns an account.
func (s *Service) Account(ctx context.Context, accountID string) (Account, error) {
	account, err := s.store.Accounts.AccountByID(ctx, accountID)
	return account, wrapStoreError(err, "account", "look up an account")
}

// NormalEmail returns an address in the form in which addresses are stored and compared. It lowers only ASCII letters: the lower case of
// other letters may be an ASCII letter, as for the Kelvin sign, and would make the addresses of two people equal.
func NormalEmail(email string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, strings.TrimSpace(email))
}

// AccountByEmail returns the account with the given email address.
func (s *Service) AccountByEmail(ctx context.Context, email string) (Account, error) {
	account, err := s.store.Accounts.AccountByEmail(ctx, NormalEmail(email))
	return account, wrapStoreError(err, "account", "look up an account")
}

// UpdateAccount changes the name and time zone of an account.
func (s *Service) UpdateAccount(ctx context.Context, accountID string, c ProfileChange) (Account, error) {
	if c.Name != nil {
		if err := checkName("name", *c.Name); err != nil {
			return Account{}, err
		}
	}
	if c.TimeZone != nil {
		if err := checkZone("time_zone", *c.TimeZone); err != nil {
			return Account{}, err
		}
	}
	account, err := s.store.Accounts.ChangeAccount(ctx, accountID, func(a *Account) (AuditEvent, error) {
		before := accountFacts(*a)
		set(&a.Name, c.Name)
		set(&a.TimeZone, c.TimeZone)
		return s.event(Actor{AccountID: accountID}, "account.update", accountID, before, accountFacts(*a)), nil
	})
	return account, wrapStoreError(err, "account", "change an account")
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// ChangePassword checks the old password, ends all sessions of the account and starts a new one.
func (s *Service) ChangePassword(ctx context.Context, accountID, old, replacement string, v Visitor) (string, error) {
	account, err := s.Account(ctx, accountID)
	if err != nil {
		return "", err
	}
	if err := secret.ValidatePassword("new_password", replacement, account.Email); err != nil {
		return "", err
	}
	wrong := func() error {
		e := llm.Errorf(llm.WrongCredentials, "The current password is incorrect.")
		e.Param = "old_password"
		return e
	}
	if _, err := s.verify(ctx, account.Email, old, v, wrong, nil); err != nil {
		return "", err
	}
	hash, err := s.hasher.Hash(ctx, v.IP, replacement)
	if err != nil {
		return "", err
	}
	token, session := s.newSession(accountID, v)
	event := s.event(Actor{AccountID: accountID}, "account.password", accountID, nil, nil)
	if err := s.store.Passwords.SetPassword(ctx, accountID, hash, &session, event); err != nil {
		return "", wrapStoreError(err, "account", "set a password")
	}
	return token, nil
}

// ResetPassword sets a new password, ends all sessions of the account and unlocks it. It is called from the command line.
func (s *Service) ResetPassword(ctx context.Context, email, replacement string) error {
	account, err := s.AccountByEmail(ctx, email)
	if err != nil {
		return err
	}
	if err := secret.ValidatePassword("password", replacement, account.Email); err != nil {
		return err
	}
	hash, err := s.hasher.Hash(ctx, "", replacement)
	if err != nil {
		return err
	}
	event := s.event(Actor{}, "account.password", account.ID, nil, nil)
	if err := s.store.Passwords.SetPassword(ctx, account.ID, hash, nil, event); err != nil {
		return wrapStoreError(err, "account", "set a password")
	}
	return s.Unlock(ctx, account.Email)
}

// DeleteAccount deletes the account. Every workspace with other members must have another owner. Keys that the account created
// are revoked, as are all keys of workspaces without remaining members.
func (s *Service) DeleteAccount(ctx context.Context, accountID, password string, v Visitor) error {
	account, err := s.ConfirmPassword(ctx, accountID, password, v)
	if err != nil {
		return err
	}
	event := s.event(Actor{AccountID: accountID}, "account.delete", accountID, accountFacts(account), nil)
	err = s.store.Accounts.DeleteAccount(ctx, accountID, event)
	if errors.Is(err, ErrLastOwner) {
		return conflict(err, "You are the last owner of a workspace with other members. Make one of them an owner first.")
	}
	if err != nil {
		return wrapStoreError(err, "account", fmt.Sprintf("delete account %s", accountID))
	}
	s.changed(ctx)
	return nil
}
