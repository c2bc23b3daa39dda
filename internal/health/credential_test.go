package health

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

var two = []string{"openai#1", "openai#2"}

func limited(after time.Duration) Report {
	return Report{Target: here, Credential: "openai#1", Err: &llm.Error{Kind: llm.UpstreamRateLimited, RetryAfter: after}}
}

func TestCredentialsAreUsedRoundRobin(t *testing.T) {
	t.Parallel()
	tr := tracker()
	var got []string
	for range 4 {
		id, _ := tr.pick("openai", two)
		got = append(got, id)
	}
	if diff := cmp.Diff([]string{"openai#1", "openai#2", "openai#1", "openai#2"}, got); diff != "" {
		t.Error(diff)
	}
	if id, wait := tr.pick("ollama", nil); id != "" || wait != 0 {
		t.Errorf("pick for a provider without credentials = %q, %v; want none", id, wait)
	}
}

func TestCredentialBacksOffAsLongAsRequested(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ asked, want time.Duration }{
		"seconds":      {20 * time.Second, 20 * time.Second},
		"milliseconds": {1500 * time.Millisecond, 1500 * time.Millisecond},
		"absurd":       {1000 * time.Hour, 5 * time.Minute},
		"no duration":  {0, time.Second},
		"negative":     {-time.Hour, time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tr := tracker()
				tr.Report(limited(tt.asked))
				id, wait := tr.pick("openai", two[:1])
				if id != "" || wait != tt.want || tr.State(here).BackingOff != tt.want || tr.State(here).Open {
					t.Errorf("Pick = %q, %v; state %+v; want a back-off of %v", id, wait, tr.State(here), tt.want)
				}
				time.Sleep(tt.want)
				if id, _ := tr.pick("openai", two[:1]); id != "openai#1" {
					t.Error("still backing off")
				}
			})
		})
	}
}

func TestOtherCredentialsServeDuringBackoff(t *testing.T) {
	t.Parallel()
	tr := tracker()
	tr.Report(limited(time.Minute))
	for range 4 {
		if id, _ := tr.pick("openai", two); id != "openai#2" {
			t.Errorf("picked %q, want openai#2", id)
		}
	}
	if r := tr.State(here).BackingOff; r != 0 {
		t.Errorf("backs off %v although one credential is available", r)
	}
}

func TestBackoffWithoutTimeGrowsOncePerBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := tracker()
		var got []time.Duration
		for range 8 {
			tr.repeat(100, limited(0)) // a hundred attempts were in flight
			_, wait := tr.pick("openai", two[:1])
			got = append(got, wait/time.Second)
			time.Sleep(wait)
		}
		if diff := cmp.Diff([]time.Duration{1, 2, 4, 8, 16, 32, 60, 60}, got); diff != "" {
			t.Error(diff)
		}
		tr.Report(Report{Target: here, Credential: "openai#1"})
		tr.Report(limited(0))
		if _, wait := tr.pick("openai", two[:1]); wait != time.Second {
			t.Errorf("backs off %v after a success, want 1 s", wait)
		}
	})
}

func TestRejectedCredentialBacksOffWithAlert(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := tracker()
		rejected := Report{Target: here, Credential: "openai#1", Err: fail(llm.UpstreamAuth)}
		tr.pick("openai", two)
		tr.Report(rejected)
		want := []CredentialHealth{{ID: "openai#1", Until: time.Now().Add(time.Minute), Reason: "credential", Alert: true}}
		if diff := cmp.Diff(want, tr.Credentials()); diff != "" {
			t.Error(diff)
		}
		time.Sleep(time.Minute)
		tr.Report(rejected)
		if _, wait := tr.pick("openai", two[:1]); wait != 2*time.Minute {
			t.Errorf("second back-off %v, want two minutes", wait)
		}
		time.Sleep(2 * time.Minute)
		tr.Report(Report{Target: here, Credential: "openai#1"})
		if got := tr.Credentials(); got != nil {
			t.Errorf("alert stays after a success: %+v", got)
		}
	})
}
