package alert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
)

// Limits per workspace.
const (
	MaxRules    = 50
	MaxChannels = 20

	maxName       = 100
	maxURL        = 2000
	maxRecipients = 10
	maxMute       = 366 * 24 * time.Hour
)

var (
	// ErrNotFound is returned for an unknown rule or channel.
	ErrNotFound = account.ErrNotFound
	// ErrTooMany is returned if a workspace has the maximum number of rules or channels.
	ErrTooMany = errors.New("too many")
	// ErrUsed is returned for a channel that a rule uses.
	ErrUsed = errors.New("the channel is used by a rule")
)

// RuleStore stores rules.
type RuleStore interface {
	Rules(ctx context.Context, workspaceID string) ([]Rule, error)
	// AddRule stores a rule. It returns ErrTooMany if the workspace already has the maximum number of rules.
	AddRule(ctx context.Context, r Rule, maximum int) error
	// ChangeRule replaces a rule. If reset is true, its states are deleted. It returns ErrNotFound for an unknown rule.
	ChangeRule(ctx context.Context, r Rule, reset bool) error
	DeleteRule(ctx context.Context, workspaceID, ruleID string) error
}

// ChannelStore stores channels.
type ChannelStore interface {
	Channels(ctx context.Context, workspaceID string) ([]Channel, error)
	AddChannel(ctx context.Context, c Channel, maximum int) error
	ChangeChannel(ctx context.Context, c Channel) error
	DeleteChannel(ctx context.Context, workspaceID, channelID string) error
}

// HistoryStore reads events and states.
type HistoryStore interface {
	// Events returns up to limit events of a workspace with their deliveries, newest first. If before is not empty, only
	// events older than the event with that ID are returned. If ruleID is not empty, only events of that rule are returned.
	Events(ctx context.Context, workspaceID, ruleID, before string, limit int) ([]Event, error)
	// WorkspaceStates returns the rule states of a workspace.
	WorkspaceStates(ctx context.Context, workspaceID string) ([]State, error)
	// AddEvent stores an event with its deliveries.
	AddEvent(ctx context.Context, e *Event) error
}

// Service changes and reads the alerts of workspaces.
type Service struct {
	Rules    RuleStore
	Channels ChannelStore
	History  HistoryStore
	Sender   *Sender
	Keys     interface {
		Keys(ctx context.Context, workspaceID string) ([]account.Key, error)
	}
	Members interface {
		Members(ctx context.Context, workspaceID string) ([]account.Member, error)
	}
	CheckURL func(ctx context.Context, address string) error // rejects addresses that workspaces may not call
	Changed  func()                                          // called after a rule was added or changed; nil for none
	Limits   limit.Limiter                                   // rate limiter for channel tests; nil for no limit
	Now      func() time.Time
}

// RuleDraft holds the settings of a rule. ChangeRule does not change settings that are nil.
type RuleDraft struct {
	Name       *string
	Kind       *Kind
	Threshold  *float64
	Window     *Window
	KeyID      *string
	Channels   *[]string
	Enabled    *bool
	MutedUntil *time.Time
}

func set[T any](dst, given *T) {
	if given != nil {
		*dst = *given
	}
}

func (d *RuleDraft) apply(r *Rule) {
	set(&r.Name, d.Name)
	set(&r.Threshold, d.Threshold)
	set(&r.Window, d.Window)
	set(&r.KeyID, d.KeyID)
	set(&r.Channels, d.Channels)
	set(&r.Enabled, d.Enabled)
	set(&r.MutedUntil, d.MutedUntil)
}

// AddRule adds a rule. Omitted settings default to the suggested values of the kind.
func (s *Service) AddRule(ctx context.Context, by account.Actor, d RuleDraft) (Rule, error) {
	now := s.Now().UTC().Truncate(time.Millisecond)
	r := Rule{ID: id.New("rule", now), WorkspaceID: by.WorkspaceID, Enabled: true, CreatedBy: by.AccountID, CreatedAt: now}
	set(&r.Kind, d.Kind)
	info, ok := Info(r.Kind)
	if !ok {
		return r, invalid("kind", fmt.Sprintf("The kind %q is unknown.", clip(string(r.Kind), 40)))
	}
	r.Threshold = info.Usual
	if len(info.Windows) > 0 {
		r.Window = info.Windows[0]
	}
	d.apply(&r)
	if strings.TrimSpace(r.Name) == "" {
		r.Name = info.Name
	}
	if err := s.checkRule(ctx, by, &r, &info); err != nil {
		return r, err
	}
	if err := s.Rules.AddRule(ctx, r, MaxRules); err != nil {
		if errors.Is(err, ErrTooMany) {
			return r, llm.Errorf(llm.Conflict, "A workspace can have at most %d alert rules. Delete a rule first.", MaxRules)
		}
		return r, err
	}
	s.changed()
	return r, nil
}

func (s *Service) changed() {
	if s.Changed != nil {
		s.Changed()
	}
}

// ChangeRule changes a rule. It returns the rule before and after the change. The kind of a rule cannot be changed.
func (s *Service) ChangeRule(ctx context.Context, by account.Actor, ruleID string, d RuleDraft) (before, after Rule, err error) {
	if before, err = s.Rule(ctx, by.WorkspaceID, ruleID); err != nil {
		return before, after, err
	}
	after = before
	d.apply(&after)
	if d.Kind != nil && *d.Kind != before.Kind {
		return before, after, invalid("kind", "The kind of a rule cannot be changed. Add another rule.")
	}
	info, _ := Info(after.Kind)
	if err := s.checkRule(ctx, by, &after, &info); err != nil {
		return before, after, err
	}
	reset := !after.Enabled || after.KeyID != before.KeyID
	if err := s.Rules.ChangeRule(ctx, after, reset); err != nil {
		return before, after, err
	}
	s.changed()
	return before, after, nil
}

// Rule returns a rule of a workspace, or ErrNotFound.
func (s *Service) Rule(ctx context.Context, workspaceID, ruleID string) (Rule, error) {
	all, err := s.Rules.Rules(ctx, workspaceID)
	if err != nil {
		return Rule{}, err
	}
	i := slices.IndexFunc(all, func(r Rule) bool { return r.ID == ruleID })
	if i < 0 {
		return Rule{}, ErrNotFound
	}
	return all[i], nil
}

// RemoveRule deletes a rule and returns it. Its events stay in the history.
func (s *Service) RemoveRule(ctx context.Context, by account.Actor, ruleID string) (Rule, error) {
	r, err := s.Rule(ctx, by.WorkspaceID, ruleID)
	if err != nil {
		return r, err
	}
	if err := s.mayChange(by, r.Kind); err != nil {
		return r, err
	}
	return r, s.Rules.DeleteRule(ctx, by.WorkspaceID, ruleID)
}

// mayChange returns an error if rules of the kind concern the whole gateway and the actor is not an operator.
func (s *Service) mayChange(by account.Actor, k Kind) error {
	if info, _ := Info(k); info.Instance && !by.May(account.ManageProviders) {
		return llm.Errorf(llm.PermissionDenied, "Only operators can use alerts of the kind %s.", k)
	}
	return nil
}

func (s *Service) checkRule(ctx context.Context, by account.Actor, r *Rule, info *KindInfo) error {
	if err := s.mayChange(by, r.Kind); err != nil {
		return err
	}
	var err error
	if r.Name, err = checkName(r.Name); err != nil {
		return err
	}
	switch {
	case !(r.Threshold >= info.Min && r.Threshold <= info.Max):
		return invalid("threshold", fmt.Sprintf("The threshold must be between %s and %s.", Format(info.Unit, info.Min), Format(info.Unit, info.Max)))
	case len(info.Windows) == 0 && r.Window != "":
		return invalid("window", fmt.Sprintf("Rules of the kind %s do not support a time window. Omit the window.", r.Kind))
	case len(info.Windows) > 0 && !slices.Contains(info.Windows, r.Window):
		texts := make([]string, len(info.Windows))
		for i, w := range info.Windows {
			texts[i] = string(w)
		}
		return invalid("window", fmt.Sprintf("The window must be one of %s.", strings.Join(texts, ", ")))
	case r.KeyID != "" && !info.PerKey:
		return invalid("key_id", fmt.Sprintf("Rules of the kind %s cannot be limited to one key.", r.Kind))
	case r.MutedUntil.Sub(s.Now()) > maxMute:
		return invalid("muted_until", "A rule can be muted for at most a year. Disable the rule instead.")
	}
	if r.KeyID != "" {
		keys, err := s.Keys.Keys(ctx, r.WorkspaceID)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(keys, func(k account.Key) bool { return k.ID == r.KeyID }) {
			return invalid("key_id", "The key was not found.")
		}
	}
	return s.checkChannels(ctx, r)
}

func (s *Service) checkChannels(ctx context.Context, r *Rule) error {
	if len(r.Channels) == 0 {
		r.Channels = []string{}
		return nil
	}
	known, err := s.Channels.Channels(ctx, r.WorkspaceID)
	if err != nil {
		return err
	}
	slices.Sort(r.Channels)
	r.Channels = slices.Compact(r.Channels)
	for _, channel := range r.Channels {
		if !slices.ContainsFunc(known, func(c Channel) bool { return c.ID == channel }) {
			return invalid("channels", "A channel was not found.")
		}
	}
	return nil
}

func checkName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || len([]rune(name)) > maxName || strings.ContainsFunc(name, unicode.IsControl) {
		return name, invalid("name", fmt.Sprintf("A name must have 1 to %d printable characters.", maxName))
	}
	return name, nil
}

// ChannelDraft holds the settings of a channel. ChangeChannel does not change settings that are empty.
type ChannelDraft struct {
	Name string
	Type ChannelType
	URL  string   // URL of a webhook or Slack channel
	To   []string // addresses of an e-mail channel
}

// AddChannel adds a channel. For a webhook it returns the signing key, which is not shown again.
func (s *Service) AddChannel(ctx context.Context, by account.Actor, d ChannelDraft) (Channel, string, error) {
	now := s.Now().UTC().Truncate(time.Millisecond)
	c := Channel{ID: id.New("chan", now), WorkspaceID: by.WorkspaceID, Type: d.Type, Name: d.Name, CreatedBy: by.AccountID, CreatedAt: now}
	var err error
	if c.Name, err = checkName(c.Name); err != nil {
		return c, "", err
	}
	var secrets Secrets
	if d.Type == Webhook {
		secrets.Key = newSigningKey()
	}
	if err := s.address(ctx, by, &c, d, &secrets); err != nil {
		return c, "", err
	}
	if err := s.seal(&c, &secrets); err != nil {
		return c, "", err
	}
	if err := s.Channels.AddChannel(ctx, c, MaxChannels); err != nil {
		if errors.Is(err, ErrTooMany) {
			err = llm.Errorf(llm.Conflict, "A workspace can have at most %d channels. Delete a channel first.", MaxChannels)
		}
		return c, "", err
	}
	return c, secrets.Key, nil
}

// ChangeChannel changes the name or the destination of a channel. A webhook keeps its signing key.
func (s *Service) ChangeChannel(ctx context.Context, by account.Actor, channelID string, d ChannelDraft) (before, after Channel, err error) {
	if before, err = s.Channel(ctx, by.WorkspaceID, channelID); err != nil {
		return before, after, err
	}
	after = before
	if d.Name != "" {
		if after.Name, err = checkName(d.Name); err != nil {
			return before, after, err
		}
	}
	if d.URL != "" || len(d.To) > 0 {
		secrets, err := s.Sender.secrets(&before)
		if err != nil {
			return before, after, llm.Errorf(llm.Conflict, "The channel cannot be decrypted with this master key. Delete it and add it again.")
		}
		if err := s.address(ctx, by, &after, d, &secrets); err != nil {
			return before, after, err
		}
		if err := s.seal(&after, &secrets); err != nil {
			return before, after, err
		}
	}
	return before, after, s.Channels.ChangeChannel(ctx, after)
}

// Channel returns a channel of a workspace, or ErrNotFound.
func (s *Service) Channel(ctx context.Context, workspaceID, channelID string) (Channel, error) {
	all, err := s.Channels.Channels(ctx, workspaceID)
	if err != nil {
		return Channel{}, err
	}
	i := slices.IndexFunc(all, func(c Channel) bool { return c.ID == channelID })
	if i < 0 {
		return Channel{}, ErrNotFound
	}
	return all[i], nil
}

// RemoveChannel deletes a channel and returns it. A channel that a rule uses is not deleted.
func (s *Service) RemoveChannel(ctx context.Context, by account.Actor, channelID string) (Channel, error) {
	c, err := s.Channel(ctx, by.WorkspaceID, channelID)
	if err != nil {
		return c, err
	}
	if err := s.Channels.DeleteChannel(ctx, by.WorkspaceID, channelID); err != nil {
		if errors.Is(err, ErrUsed) {
			err = llm.Errorf(llm.Conflict, "A rule uses this channel. Remove the channel from the rule first.")
		}
		return c, err
	}
	return c, nil
}

// address validates and sets the destination of a channel.
func (s *Service) address(ctx context.Context, by account.Actor, c *Channel, d ChannelDraft, secrets *Secrets) error {
	if c.Type == Email {
		to, err := recipients(d.To)
		if err != nil {
			return err
		}
		if d.URL != "" {
			return invalid("url", "An e-mail channel cannot have a URL. Omit the URL.")
		}
		if s.Sender.Mail().Server == "" {
			return invalid("type", "No mail server is configured. Ask an operator to set alerts.smtp in the configuration.")
		}
		if err := s.checkRecipients(ctx, by, to); err != nil {
			return err
		}
		c.Target, secrets.To = strings.Join(to, ", "), to
		return nil
	}
	if c.Type != Webhook && c.Type != Slack {
		return invalid("type", "Unknown channel type. Use webhook, slack or email.")
	}
	if len(d.To) > 0 {
		return invalid("to", "Only an e-mail channel can have recipients. Omit the recipients.")
	}
	address := strings.TrimSpace(d.URL)
	if address == "" || len(address) > maxURL {
		return invalid("url", fmt.Sprintf("A URL with at most %d characters is required.", maxURL))
	}
	if err := s.CheckURL(ctx, address); err != nil {
		if e, ok := errors.AsType[*llm.Error](err); ok {
			return invalid("url", e.Message)
		}
		return err
	}
	u, err := url.Parse(address)
	if err != nil {
		return invalid("url", "This is not a URL.")
	}
	c.Target, secrets.URL = address, address
	if c.Type == Slack { // the path is a credential
		c.Target = u.Scheme + "://" + u.Host + "/…"
	}
	return nil
}

// checkRecipients rejects e-mail addresses that do not belong to members of the workspace, so that the mail server of the gateway
// cannot be used to send messages to arbitrary addresses. In the operators' workspace it accepts every address.
func (s *Service) checkRecipients(ctx context.Context, by account.Actor, to []string) error {
	if by.Operator {
		return nil
	}
	members, err := s.Members.Members(ctx, by.WorkspaceID)
	if err != nil {
		return err
	}
	for _, address := range to {
		if !slices.ContainsFunc(members, func(m account.Member) bool { return strings.EqualFold(m.Email, address) }) {
			return invalid("to", fmt.Sprintf("%s is not a member of the workspace. Only operators can add other recipients.", address))
		}
	}
	return nil
}

func recipients(given []string) ([]string, error) {
	if len(given) == 0 || len(given) > maxRecipients {
		return nil, invalid("to", fmt.Sprintf("An e-mail channel needs 1 to %d addresses.", maxRecipients))
	}
	var list []string
	for _, text := range given {
		parsed, err := mail.ParseAddress(strings.TrimSpace(text))
		if err != nil || parsed.Name != "" || len(parsed.Address) > 254 || strings.ContainsFunc(parsed.Address, unicode.IsControl) {
			return nil, invalid("to", fmt.Sprintf("%q is not an e-mail address.", clip(text, 80)))
		}
		list = append(list, parsed.Address)
	}
	return list, nil
}

func (s *Service) seal(c *Channel, secrets *Secrets) error {
	text, err := json.Marshal(secrets)
	if err != nil {
		return err
	}
	c.Sealed = s.Sender.Sealer.Seal(sealedAs, c.ID, string(text))
	return nil
}

// Test sends a test notification through a channel and records the result in the history.
func (s *Service) Test(ctx context.Context, by account.Actor, channelID string) (Delivery, error) {
	c, err := s.Channel(ctx, by.WorkspaceID, channelID)
	if err != nil {
		return Delivery{}, err
	}
	if err := s.limitTests(ctx, by.WorkspaceID); err != nil {
		return Delivery{}, err
	}
	now := s.Now().UTC().Truncate(time.Millisecond)
	e := Event{ID: id.New("alrt", now), WorkspaceID: by.WorkspaceID, Type: Test, EventRule: EventRule{RuleName: "Test of " + c.Name}, At: now}
	d := newDelivery(&e, c.ID)
	d.ChannelName, d.Attempts = c.Name, len(retries)+1 // the maximum, because a failed test is not retried
	d.finish(s.Sender.Send(ctx, &c, &e, now), s.Now())
	d.Attempts = 1
	e.Deliveries = []Delivery{d}
	return d, s.History.AddEvent(context.WithoutCancel(ctx), &e)
}

// testsPerMinute is the maximum number of test notifications that a workspace can send per minute, so that tests cannot flood an
// address.
const testsPerMinute = 6

// limitTests counts a test. It returns a RateLimited error if the workspace has sent too many.
func (s *Service) limitTests(ctx context.Context, workspaceID string) error {
	if s.Limits == nil {
		return nil
	}
	slot, err := s.Limits.Take(ctx, "alert-test:"+workspaceID, limit.Limits{RequestsPerMinute: testsPerMinute}, 0)
	if err != nil {
		rejected := llm.AsError(err)
		e := llm.Errorf(rejected.Kind, "A workspace can send at most %d test notifications per minute. Retry later.", testsPerMinute)
		e.RetryAfter = rejected.RetryAfter
		return e
	}
	slot.Release()
	return nil
}

// Alert holds a firing rule with its state.
type Alert struct {
	Rule  Rule
	State State
}

// Firing returns the firing alerts of a workspace, oldest first.
func (s *Service) Firing(ctx context.Context, workspaceID string) ([]Alert, error) {
	states, err := s.History.WorkspaceStates(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	states = slices.DeleteFunc(states, func(s State) bool { return !s.Firing })
	if len(states) == 0 {
		return nil, nil
	}
	rules, err := s.Rules.Rules(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	var list []Alert
	for _, state := range states {
		i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == state.RuleID })
		if i >= 0 && rules[i].Enabled {
			list = append(list, Alert{rules[i], state})
		}
	}
	slices.SortStableFunc(list, func(a, b Alert) int { return a.State.Since.Compare(b.State.Since) })
	return list, nil
}

// Sentence describes a firing alert.
func (a *Alert) Sentence() string {
	e := a.Rule.event(Firing, &a.State, a.State.Since)
	return e.Sentence()
}
