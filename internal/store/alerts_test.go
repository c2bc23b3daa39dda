package store_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/alert"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/store/storetest/accounttest"
	"fairlead.dev/internal/vault"
)

// alertSite is a database whose alert rules are evaluated by several replicas. It also returns the figures for the rules.
type alertSite struct {
	db      *store.DB
	vault   *vault.Vault
	now     atomic.Int64
	errors  atomic.Int64 // number of failed requests per 100 requests
	service *alert.Service
	actor   account.Actor
}

func (s *alertSite) time() time.Time { return time.UnixMilli(s.now.Load()).UTC() }

func (s *alertSite) pass(d time.Duration) { s.now.Add(d.Milliseconds()) }

// Breakdown returns the current figures.
func (s *alertSite) Breakdown(context.Context, requestlog.BreakdownQuery) ([]requestlog.Group, error) {
	return []requestlog.Group{{Figures: requestlog.Figures{RequestCounts: requestlog.RequestCounts{Requests: 100, Errors: s.errors.Load()}}}}, nil
}

// Series implements requestlog.FigureReader.
func (s *alertSite) Series(context.Context, requestlog.SeriesQuery) ([]requestlog.Bucket, error) {
	return nil, nil
}

// Samples implements proof.Source.
func (s *alertSite) Samples(context.Context, string, time.Time, time.Time) ([]proof.Sample, error) {
	return nil, nil
}

// Keys implements alert.Facts.
func (s *alertSite) Keys(context.Context, string) ([]account.Key, error) { return nil, nil }

// Budgets implements alert.Facts.
func (s *alertSite) Budgets(context.Context, string) ([]budget.Item, error) { return nil, nil }

// Operators implements alert.Facts.
func (s *alertSite) Operators(context.Context) (string, error) { return s.actor.WorkspaceID, nil }

func newAlertSite(t *testing.T, db *store.DB, name string) *alertSite {
	t.Helper()
	accounttest.Enrol(t, db, name)
	s := &alertSite{db: db, actor: account.Actor{WorkspaceID: "ws_" + name, Role: account.Owner, Operator: true}}
	s.now.Store(time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC).UnixMilli())
	var err error
	if s.vault, err = vault.New(db.Config, []byte(strings.Repeat("k", 32)), s.time); err != nil {
		t.Fatal(err)
	}
	s.service = &alert.Service{
		Rules: db.Alerts, Channels: db.Alerts, History: db.Alerts, Keys: s, Sender: s.sender(), Now: s.time,
		CheckURL: func(context.Context, string) error { return nil },
	}
	return s
}

type roundTripper struct{ http.RoundTripper }

func (r roundTripper) Do(req *http.Request) (*http.Response, error) { return r.RoundTrip(req) }

func (s *alertSite) sender() *alert.Sender {
	return &alert.Sender{
		HTTP: roundTripper{http.DefaultTransport}, Sealer: s.vault, Mail: func() alert.Mail { return alert.Mail{} }, Dashboard: func() string { return "" },
	}
}

// replica returns an alert engine that uses the database, with the given replica name.
func (s *alertSite) replica(name string, local []alert.Report) *alert.Engine {
	return &alert.Engine{
		Store: s.db.Alerts, Reports: s.db.Alerts, Sender: s.sender(), Expire: s.db.Alerts.Expire, Now: s.time, Replica: name,
		Local: func() []alert.Report { return local }, Report: func(string, error) {},
		Meter: alert.NewMeter(alert.Sources{Figures: s, Samples: s, Facts: s, Reports: s.db.Alerts}),
	}
}

// inbox is a webhook endpoint.
type inbox struct {
	*httptest.Server
	mu       sync.Mutex
	received []alert.Payload
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{}
	in.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		in.mu.Lock()
		defer in.mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		var p alert.Payload
		if err := json.Unmarshal(body, &p); err != nil {
			t.Error(err)
		}
		in.received = append(in.received, p)
	}))
	t.Cleanup(func() {
		in.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return in
}

func (in *inbox) types() string {
	in.mu.Lock()
	defer in.mu.Unlock()
	var all []string
	for _, p := range in.received {
		all = append(all, p.Type)
	}
	return strings.Join(all, " ")
}

// step lets all replicas evaluate and deliver at the same time.
func step(t *testing.T, replicas []*alert.Engine) {
	t.Helper()
	for _, do := range []func(*alert.Engine) error{
		func(e *alert.Engine) error { return e.Evaluate(t.Context()) },
		func(e *alert.Engine) error { return e.Deliver(t.Context()) },
	} {
		var all sync.WaitGroup
		for _, e := range replicas {
			all.Go(func() {
				if err := do(e); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}

// addAlert adds a rule with a webhook.
func (s *alertSite) addAlert(t *testing.T, kind alert.Kind, url string) alert.Rule {
	t.Helper()
	c, _, err := s.service.AddChannel(t.Context(), s.actor, alert.ChannelDraft{Name: "ops", Type: alert.Webhook, URL: url})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.service.AddRule(t.Context(), s.actor, alert.RuleDraft{Kind: &kind, Channels: &[]string{c.ID}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *alertSite) replicas() []*alert.Engine {
	return []*alert.Engine{s.replica("a", nil), s.replica("b", nil), s.replica("c", nil)}
}

func oneAlertPerCrossing(t *testing.T, db *store.DB) {
	s, in := newAlertSite(t, db, "crossing"), newInbox(t)
	rule := s.addAlert(t, alert.ErrorRate, in.URL)
	replicas := s.replicas()
	for _, failed := range []int64{0, 20, 30, 20, 5, 4, 0, 0, 50, 0} { // the threshold is 5 %, and an alert does not end at exactly 5 %
		s.errors.Store(failed)
		step(t, replicas)
		s.pass(30 * time.Second)
	}
	if got, want := in.types(), "alert.firing alert.recovered alert.firing alert.recovered"; got != want {
		t.Errorf("notifications: %s, want %s", got, want)
	}
	events, err := s.service.History.Events(t.Context(), s.actor.WorkspaceID, rule.ID, "", 10)
	if err != nil || len(events) != 4 || len(events[0].Deliveries) != 1 || events[0].Deliveries[0].State != alert.Delivered || events[0].Deliveries[0].ChannelName != "ops" {
		t.Errorf("history: %+v, %v", events, err)
	}

	if _, _, err := s.service.ChangeRule(t.Context(), s.actor, rule.ID, alert.RuleDraft{MutedUntil: new(s.time().Add(time.Hour))}); err != nil {
		t.Fatal(err)
	}
	s.errors.Store(50)
	step(t, replicas)
	firing, err := s.service.Firing(t.Context(), s.actor.WorkspaceID)
	if err != nil || len(firing) != 1 || strings.Count(in.types(), "firing") != 2 {
		t.Errorf("muted rule: firing %+v, %v, notifications %s; want one and no new notification", firing, err, in.types())
	}
	if _, _, err := s.service.ChangeRule(t.Context(), s.actor, rule.ID, alert.RuleDraft{Enabled: new(false)}); err != nil {
		t.Fatal(err)
	}
	if firing, err = s.service.Firing(t.Context(), s.actor.WorkspaceID); err != nil || len(firing) != 0 {
		t.Errorf("disabled rule: firing %+v, %v; want none", firing, err)
	}
	if err := db.Alerts.Expire(t.Context(), s.time().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if events, err = s.service.History.Events(t.Context(), s.actor.WorkspaceID, "", "", 10); err != nil || len(events) != 0 {
		t.Errorf("events after Expire: %+v, %v; want none", events, err)
	}
}

func replicasReportCircuits(t *testing.T, db *store.DB) {
	s, in := newAlertSite(t, db, "circuits"), newInbox(t)
	s.addAlert(t, alert.OpenCircuits, in.URL)
	a, b := s.replica("a", []alert.Report{alert.CircuitReport(nil)}), s.replica("b", []alert.Report{alert.CircuitReport([]string{"openai/gpt-9"})})
	report := func(e *alert.Engine) {
		if err := e.ReportLocal(t.Context()); err != nil {
			t.Error(err)
		}
	}
	report(a)
	report(b)
	step(t, []*alert.Engine{a})
	if in.types() != "alert.firing" || !strings.Contains(in.received[0].Text, "openai/gpt-9") {
		t.Errorf("notifications for the circuit of another replica: %+v", in.received)
	}
	s.pass(3 * time.Minute) // replica b has ended
	report(a)
	step(t, []*alert.Engine{a})
	if in.types() != "alert.firing alert.recovered" {
		t.Errorf("notifications after the replica ended: %s, want firing and recovered", in.types())
	}
}

func TestAlertsOverReplicas(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *store.DB{"SQLite": openSQLite, "PostgreSQL": openPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			t.Run("OneAlertPerCrossing", func(t *testing.T) { oneAlertPerCrossing(t, db) })
			t.Run("ReplicasReportCircuits", func(t *testing.T) { replicasReportCircuits(t, db) })
		})
	}
}
