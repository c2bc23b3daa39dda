package alert

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/requestlog"
)

// desk is an in-memory store with one rule and one channel.
type desk struct {
	mu       sync.Mutex
	rule     Rule
	channel  Channel
	states   []State
	events   []Event
	delivery []Delivery
	errors   int64 // number of failed requests per 100 requests
}

func (d *desk) EnabledRules(context.Context) ([]Rule, error) { return []Rule{d.rule}, nil }

func (d *desk) States(context.Context) ([]State, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]State{}, d.states...), nil
}

func (d *desk) Apply(_ context.Context, c *Change, deliveries []Delivery) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.states) > 0 && d.states[0].Revision != c.Next.Revision {
		return false, nil
	}
	next := c.Next
	next.Revision++
	d.states = []State{next}
	if c.Event != nil {
		d.events = append(d.events, *c.Event)
	}
	d.delivery = append(d.delivery, deliveries...)
	return true, nil
}

func (d *desk) Due(_ context.Context, now time.Time, _ int) ([]Delivery, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var due []Delivery
	for _, one := range d.delivery {
		if one.State == Pending && !one.NextAt.After(now) {
			due = append(due, one)
		}
	}
	return due, nil
}

func (d *desk) Update(_ context.Context, given *Delivery, attempts int) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.delivery {
		if d.delivery[i].ID == given.ID && d.delivery[i].Attempts == attempts {
			d.delivery[i] = *given
			return true, nil
		}
	}
	return false, nil
}

func (d *desk) Notification(context.Context, *Delivery) (Event, Channel, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.events[len(d.events)-1], d.channel, nil
}

func (d *desk) Breakdown(context.Context, requestlog.BreakdownQuery) ([]requestlog.Group, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return []requestlog.Group{{Figures: requestlog.Figures{RequestCounts: requestlog.RequestCounts{Requests: 100, Errors: d.errors}}}}, nil
}

func (d *desk) Series(context.Context, requestlog.SeriesQuery) ([]requestlog.Bucket, error) {
	return nil, errors.New("not used")
}

func (d *desk) fail(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.errors = n
}

func TestLeaderRetriesADeadWebhookAndReportsTheRecovery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		d := &desk{rule: Rule{ID: "rule_1", Kind: ErrorRate, Threshold: 5, Window: "15m", Channels: []string{"chan_1"}, Enabled: true}}
		d.channel = *channelOf(t, Webhook, Secrets{URL: "https://example.com", Key: newSigningKey()})
		var attempts []time.Duration
		ids := map[string]bool{}
		sender := newSender()
		sender.HTTP = doer(func(r *http.Request) (*http.Response, error) {
			attempts = append(attempts, time.Since(start).Round(time.Second))
			ids[r.Header.Get("Webhook-Id")] = true
			return nil, errors.New("connection refused")
		})
		e := &Engine{
			Store: d, Sender: sender, Meter: NewMeter(Sources{Figures: d}), Now: time.Now,
			Expire: func(context.Context, time.Time) error { return nil },
			Report: func(_ string, err error) {
				if err != nil {
					t.Error(err)
				}
			},
		}
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { e.Lead(ctx) })
		time.Sleep(45 * time.Second)
		d.fail(50)
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if len(d.events) != 1 || d.delivery[0].State != Failed || d.delivery[0].Attempts != 6 || len(ids) != 1 {
			t.Errorf("%d events, %+v, ids %v", len(d.events), d.delivery, ids)
		}
		want := []time.Duration{0, 10 * time.Second, 70 * time.Second, 370 * time.Second, 1270 * time.Second, 4870 * time.Second}
		for i := range want {
			want[i] += time.Minute // the third evaluation detects the crossing, one minute after the start
		}
		for i := range min(len(attempts), len(want)) {
			if late := attempts[i] - want[i]; late < 0 || late > 12*time.Second { // each wait is rounded up to the delivery interval
				t.Errorf("attempt %d after %s, want %s", i+1, attempts[i], want[i])
			}
		}
		d.fail(0)
		time.Sleep(time.Minute)
		cancel()
		done.Wait()
		if types := []EventType{d.events[0].Type, d.events[len(d.events)-1].Type}; !cmp.Equal(types, []EventType{Firing, Recovered}) || len(d.events) != 2 {
			t.Errorf("events %v", types)
		}
	})
}
