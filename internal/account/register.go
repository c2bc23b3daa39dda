package account

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"fairlead.dev/internal/account/secret"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
)

// Registration is the input of Register.
type Registration struct {
	Email      string
	Password   string
	Name       string
	Workspace  string // name of the workspace to create; derived from the person's name when empty
	SetupCode  string // setup code, required for the first account
	Invitation string // token of an invitation
	Visitor
}

// Limits on names.
const (
	maxEmail = 254
	maxName  = 100
)

// Register creates an account and signs the user in. The account gets a new workspace or joins the workspace of the invitation.
// The first account requires the setup code and becomes the owner of the workspace that holds the keys created on the command
// line.
//
// With open registration, Register returns no account and no token, and does not report whether the address is taken, so that
// registered addresses cannot be probed. The user must then sign in.
func (s *Service) Register(ctx context.Context, r Registration) (Account, string, error) {
	account, err := s.draftAccount(r)
	if err != nil {
		return Account{}, "", err
	}
	if !s.passwords(account.Email) {
		return Account{}, "", passwordsDisabled()
	}
	admission, err := s.admit(ctx, r)
	if err != nil {
		return Account{}, "", err
	}
	if account.PasswordHash, err = s.hasher.Hash(ctx, r.IP, r.Password); err != nil {
		return Account{}, "", err
	}
	e := s.enrolment(account, r.Workspace, admission)
	if admission.open {
		return Account{}, "", s.enrolSilently(ctx, e)
	}
	token, session := s.newSession(account.ID, r.Visitor)
	e.Session = &session
	if err := s.enrol(ctx, e); err != nil {
		return Account{}, "", err
	}
	if admission.first {
		s.setup.use()
	}
	return account, token, nil
}

// enrolSilently creates the account unless its address is taken. The caller cannot distinguish the two cases, because the result
// is the same. If the address is taken, it writes an audit event, so that one transaction is committed in either case.
func (s *Service) enrolSilently(ctx context.Context, e Enrolment) error {
	err := s.enrol(ctx, e)
	if !errors.Is(err, ErrConflict) {
		return err
	}
	e.Event.Action = "account.register_taken"
	if err := s.store.Audit.WriteAudit(ctx, e.Event); err != nil {
		return fmt.Errorf("record a registration: %w", err)
	}
	s.changed(ctx)
	return nil
}

// CreateAccount creates an account from the command line, without a setup code or an invitation.
func (s *Service) CreateAccount(ctx context.Context, email, password, name string) (Account, error) {
	account, err := s.draftAccount(Registration{Email: email, Password: password, Name: name})
	if err != nil {
		return Account{}, err
	}
	if account.PasswordHash, err = s.hasher.Hash(ctx, "", password); err != nil {
		return Account{}, err
	}
	e := s.enrolment(account, "", admission{})
	e.Event.Actor = commandLine
	if err := s.enrol(ctx, e); err != nil {
		return Account{}, err
	}
	return account, nil
}

// admission is the reason why a registration is allowed.
type admission struct {
	first      bool   // whether no account exists yet
	invitation []byte // hash of the invitation token; nil without an invitation
	open       bool   // whether registration is open; a new workspace then gets the quota's budget
}

func (s *Service) admit(ctx context.Context, r Registration) (admission, error) {
	has, err := s.store.Accounts.HasAccounts(ctx)
	if err != nil {
		return admission{}, fmt.Errorf("check for accounts: %w", err)
	}
	if !has {
		if err := s.setup.check(r.SetupCode, s.now()); err != nil {
			return admission{}, err
		}
		return admission{first: true}, nil
	}
	switch {
	case r.Invitation != "": // the invitation is looked up first, so that an invalid one does not reveal which addresses have accounts
		if _, err := s.Invitation(ctx, r.Invitation); err != nil {
			return admission{}, err
		}
		return admission{invitation: s.invitationHash.Bytes(r.Invitation)}, nil
	case s.registration == RegistrationOpen:
		return admission{open: true}, nil
	}
	return admission{}, denied("Registration requires an invitation. Ask a member of a workspace for an invitation link.")
}

func (s *Service) draftAccount(r Registration) (Account, error) {
	email := NormalEmail(r.Email)
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email || parsed.Name != "" || len(email) > maxEmail || hasControl(email) {
		return Account{}, invalid("email", "This is not a valid email address.")
	}
	if err := secret.ValidatePassword("password", r.Password, email); err != nil {
		return Account{}, err
	}
	name := strings.TrimSpace(r.Name)
	if name == "" {
		name, _, _ = strings.Cut(email, "@")
	}
	name = cut(name, maxName)
	if err := checkName("name", name); err != nil {
		return Account{}, err
	}
	if r.Workspace != "" {
		if err := checkName("workspace", r.Workspace); err != nil {
			return Account{}, err
		}
	}
	now := s.now()
	return Account{ID: id.New("acc", now), Email: email, Name: name, TimeZone: "UTC", CreatedAt: now}, nil
}

func (s *Service) enrolment(account Account, workspace string, a admission) Enrolment {
	workspace = strings.TrimSpace(workspace)
	if workspace == "" {
		workspace = cut(account.Name, maxName-len("'s workspace")) + "'s workspace"
	}
	e := Enrolment{
		Account: account, First: a.first, Invitation: a.invitation,
		Workspace: s.draftWorkspace(workspace, a.open),
	}
	by := Actor{AccountID: account.ID}
	e.Event = s.event(by, "account.register", account.ID, nil, accountFacts(account))
	return e
}

func (s *Service) enrol(ctx context.Context, e Enrolment) error {
	_, err := s.store.Accounts.Enrol(ctx, e)
	switch {
	case errors.Is(err, ErrConflict):
		return conflict(err, "An account with this email address already exists. Sign in instead.")
	case errors.Is(err, ErrNotFirst):
		return conflict(err, "The first account was created at the same time. Try again.")
	case errors.Is(err, ErrNotFound):
		return invitationOver()
	case err != nil:
		return fmt.Errorf("register: %w", err)
	}
	s.changed(ctx)
	return nil
}

func invitationOver() error {
	e := llm.Errorf(llm.NotFound, "This invitation was already used, was revoked or has expired. Ask for a new link.")
	e.Param = "invitation"
	e.Err = ErrNotFound
	return e
}

// checkName rejects names that are empty, too long or contain control characters.
func checkName(param, name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return invalid(param, "A name is required.")
	case len(name) > maxName:
		return invalid(param, "The name has more than %d bytes.", maxName)
	case hasControl(name):
		return invalid(param, "The name contains control characters.")
	}
	return nil
}

// hasControl reports whether s contains control characters or invalid UTF-8.
func hasControl(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl)
}

// checkZone validates the name of a time zone. Empty means UTC.
func checkZone(param, zone string) error {
	if zone == "" {
		return nil
	}
	if zone == "Local" || len(zone) > maxName {
		return invalid(param, "Unknown time zone. Use an IANA name such as Europe/Paris.")
	}
	if _, err := time.LoadLocation(zone); err != nil {
		return invalid(param, "Unknown time zone. Use an IANA name such as Europe/Paris.")
	}
	return nil
}
