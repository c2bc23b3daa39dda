package alert

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
)

// memory is an in-memory store with one workspace.
type memory struct {
	rules    []Rule
	channels []Channel
	events   []Event
}

func (m *memory) Rules(context.Context, string) ([]Rule, error) { return m.rules, nil }

func (m *memory) AddRule(_ context.Context, r Rule, maximum int) error {
	if len(m.rules) >= maximum {
		return ErrTooMany
	}
	m.rules = append(m.rules, r)
	return nil
}

func (m *memory) ChangeRule(_ context.Context, r Rule, _ bool) error {
	i := slices.IndexFunc(m.rules, func(x Rule) bool { return x.ID == r.ID })
	m.rules[i] = r
	return nil
}

func (m *memory) DeleteRule(context.Context, string, string) error { return nil }

func (m *memory) Channels(context.Context, string) ([]Channel, error) { return m.channels, nil }

func (m *memory) AddChannel(_ context.Context, c Channel, _ int) error {
	m.channels = append(m.channels, c)
	return nil
}

func (m *memory) ChangeChannel(_ context.Context, c Channel) error { m.channels[0] = c; return nil }

func (m *memory) DeleteChannel(context.Context, string, string) error { return ErrUsed }

func (m *memory) Events(context.Context, string, string, string, int) ([]Event, error) {
	return m.events, nil
}

func (m *memory) WorkspaceStates(context.Context, string) ([]State, error) { return nil, nil }

func (m *memory) AddEvent(_ context.Context, e *Event) error {
	m.events = append(m.events, *e)
	return nil
}

func (m *memory) Keys(context.Context, string) ([]account.Key, error) {
	return []account.Key{{ID: "key_1", KeySettings: account.KeySettings{Name: "ci"}}}, nil
}

func (m *memory) Members(context.Context, string) ([]account.Member, error) {
	return []account.Member{{Email: "ann@example.com"}}, nil
}

func newService(m *memory) *Service {
	return &Service{
		Rules: m, Channels: m, History: m, Keys: m, Members: m, Sender: newSender(), Now: func() time.Time { return noon },
		CheckURL: func(_ context.Context, address string) error {
			if !strings.HasPrefix(address, "https://") {
				return &llm.Error{Kind: llm.InvalidRequest, Param: "base_url", Message: "The address must start with https://."}
			}
			return nil
		},
	}
}

func TestRulesAreValidated(t *testing.T) {
	t.Parallel()
	operator, tenant := account.Actor{WorkspaceID: "ws", Role: account.Admin, Operator: true}, account.Actor{WorkspaceID: "ws", Role: account.Owner}
	for _, test := range []struct {
		name  string
		by    account.Actor
		draft RuleDraft
		param string // parameter that the error names; "-" for a missing permission, empty for none
	}{
		{"defaults", tenant, RuleDraft{Kind: new(ErrorRate)}, ""},
		{"of one key", tenant, RuleDraft{Kind: new(Spend), Window: new(Window("month")), KeyID: new("key_1")}, ""},
		{"unknown kind", tenant, RuleDraft{Kind: new(Kind("weather"))}, "kind"},
		{"threshold out of range", tenant, RuleDraft{Kind: new(ErrorRate), Threshold: new(101.0)}, "threshold"},
		{"calendar window of a rate", tenant, RuleDraft{Kind: new(ErrorRate), Window: new(Window("day"))}, "window"},
		{"window of a budget", tenant, RuleDraft{Kind: new(Budget), Window: new(Window("1h"))}, "window"},
		{"unknown key", tenant, RuleDraft{Kind: new(Spend), KeyID: new("key_2")}, "key_id"},
		{"key of a quality rule", tenant, RuleDraft{Kind: new(Quality), KeyID: new("key_1")}, "key_id"},
		{"unknown channel", tenant, RuleDraft{Kind: new(Spend), Channels: &[]string{"chan_2"}}, "channels"},
		{"control characters", tenant, RuleDraft{Kind: new(Spend), Name: new("a\nb")}, "name"},
		{"muted without end", tenant, RuleDraft{Kind: new(Spend), MutedUntil: new(noon.AddDate(5, 0, 0))}, "muted_until"},
		{"gateway figures of a tenant", tenant, RuleDraft{Kind: new(OpenCircuits)}, "-"},
		{"gateway figures of an operator", operator, RuleDraft{Kind: new(OpenCircuits)}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := newService(&memory{}).AddRule(t.Context(), test.by, test.draft)
			e, _ := errors.AsType[*llm.Error](err)
			switch {
			case test.param == "" && err != nil, test.param != "" && e == nil:
				t.Errorf("got error %v, want one for %q", err, test.param)
			case test.param == "-" && e.Kind != llm.PermissionDenied:
				t.Errorf("got %v, want PermissionDenied", err)
			case test.param != "" && test.param != "-" && e.Param != test.param:
				t.Errorf("the error names %q, want %q: %v", e.Param, test.param, err)
			}
		})
	}
}

func TestRulesAreBounded(t *testing.T) {
	t.Parallel()
	s := newService(&memory{})
	by := account.Actor{WorkspaceID: "ws", Role: account.Owner}
	for range MaxRules {
		if _, err := s.AddRule(t.Context(), by, RuleDraft{Kind: new(Spend)}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.AddRule(t.Context(), by, RuleDraft{Kind: new(Spend)})
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.Conflict {
		t.Errorf("rule %d: got %v, want Conflict", MaxRules+1, err)
	}
}

func TestChannelsHideTheirSecrets(t *testing.T) {
	t.Parallel()
	m := &memory{}
	s := newService(m)
	by := account.Actor{WorkspaceID: "ws", Role: account.Owner}
	hook, key, err := s.AddChannel(t.Context(), by, ChannelDraft{Name: "ops", Type: Webhook, URL: "https://example.com/hook"})
	if err != nil || !strings.HasPrefix(key, "whsec_") || hook.Target != "https://example.com/hook" {
		t.Fatalf("%+v %s %v", hook, key, err)
	}
	chat, key, err := s.AddChannel(t.Context(), by, ChannelDraft{Name: "chat", Type: Slack, URL: "https://hooks.example.com/services/T0/canary"})
	if err != nil || key != "" || chat.Target != "https://hooks.example.com/…" {
		t.Errorf("%+v %s %v", chat, key, err)
	}
	for param, draft := range map[string]ChannelDraft{
		"url":  {Name: "x", Type: Webhook, URL: "http://10.0.0.1/"},
		"type": {Name: "x", Type: Email, To: []string{"a@example.com"}},
		"to":   {Name: "x", Type: Email, To: []string{"A <a@example.com>"}},
		"name": {Name: " ", Type: Webhook, URL: "https://example.com"},
	} {
		_, _, err := s.AddChannel(t.Context(), by, draft)
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Param != param {
			t.Errorf("got %v, want an error for %s", err, param)
		}
	}
	s.Sender.Mail = func() Mail { return Mail{Server: "localhost:25"} }
	for address, allowed := range map[string]bool{"Ann@example.com": true, "eve@example.com": false} {
		if _, _, err := s.AddChannel(t.Context(), by, ChannelDraft{Name: "mail", Type: Email, To: []string{address}}); (err == nil) != allowed {
			t.Errorf("%s: got error %v, want success: %t", address, err, allowed)
		}
	}
	by.Operator = true
	if c, _, err := s.AddChannel(t.Context(), by, ChannelDraft{Name: "mail", Type: Email, To: []string{"eve@example.com"}}); err != nil || c.Target != "eve@example.com" {
		t.Errorf("an operator adds any recipient: got %q, %v", c.Target, err)
	}
	if _, after, err := s.ChangeChannel(t.Context(), by, hook.ID, ChannelDraft{URL: "https://example.com/other"}); err != nil || after.Target != "https://example.com/other" {
		t.Errorf("%+v, %v", after, err)
	} else if secrets, err := s.Sender.secrets(&after); err != nil || !strings.HasPrefix(secrets.Key, "whsec_") {
		t.Errorf("the signing key is lost: %v", err)
	}
	if _, err := s.RemoveChannel(t.Context(), by, hook.ID); err == nil {
		t.Error("a channel in use was removed")
	}
	if _, err := s.Channel(t.Context(), "ws", "chan_9"); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown channel: got %v, want ErrNotFound", err)
	}
}

func TestTestsAreLimited(t *testing.T) {
	t.Parallel()
	m := &memory{}
	s := newService(m)
	s.Limits = limit.NewMemory(func() time.Time { return noon })
	by := account.Actor{WorkspaceID: "ws", Role: account.Admin}
	for range testsPerMinute {
		if err := s.limitTests(t.Context(), by.WorkspaceID); err != nil {
			t.Fatal(err)
		}
	}
	err := llm.AsError(s.limitTests(t.Context(), by.WorkspaceID))
	if err.Kind != llm.RateLimited || err.RetryAfter <= 0 {
		t.Errorf("after %d tests: got %v, want RateLimited with a retry time", testsPerMinute, err)
	}
	if err := s.limitTests(t.Context(), "other"); err != nil {
		t.Errorf("another workspace: %v", err)
	}
}
