package health

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

// TestBackoffAppliesToTargetOrCredential checks for every kind of failure which calls are admitted afterwards.
func TestBackoffAppliesToTargetOrCredential(t *testing.T) {
	t.Parallel()
	const other = "openai/gpt-4.1-mini"
	for _, kind := range llm.Kinds() {
		synctest.Test(t, func(t *testing.T) {
			for _, ids := range [][]string{{"openai#1"}, nil} {
				tr := tracker()
				tr.Admit(here, ids, false)
				tr.Admit(other, ids, false)
				credential := ""
				if ids != nil {
					credential = ids[0]
				}
				tr.Report(Report{Target: here, Credential: credential, Err: fail(kind)})

				here, other := tr.State(here), tr.State(other)

				refusal := kind == llm.UpstreamAuth || kind == llm.UpstreamDenied || kind == llm.UpstreamNotFound
				if want := kind == llm.UpstreamRateLimited || refusal && ids != nil; (here.BackingOff > 0) != want {
					t.Errorf("%s with %v: the target backs off for %s", kind, ids, here.BackingOff)
				}
				if want := kind == llm.UpstreamAuth && ids != nil; (other.BackingOff > 0) != want {
					t.Errorf("%s with %v: another target backs off for %s", kind, ids, other.BackingOff)
				}
				if want := here.BackingOff > 0 && kind != llm.UpstreamRateLimited; here.Rejected != want {
					t.Errorf("%s with %v: rejected is %v, want %v", kind, ids, here.Rejected, want)
				}
			}
		})
	}
}

func TestRejectionQuotedInBadRequestExcludesNothing(t *testing.T) {
	t.Parallel()
	tr := tracker()
	tr.pick("openai", two[:1])
	tr.Report(Report{Target: here, Credential: "openai#1", Err: &llm.Error{Kind: llm.UpstreamNotFound, UpstreamStatus: 400}})
	if got := tr.State(here); got.BackingOff != 0 {
		t.Errorf("the target backs off for %s, want 0", got.BackingOff)
	}
}

func TestBackoffOfDeniedModelGrows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := tracker()
		var got []time.Duration
		for range 7 {
			tr.Report(Report{Target: here, Credential: "openai#1", Err: fail(llm.UpstreamDenied)})
			wait := tr.Wait(here, two[:1])
			got = append(got, wait/time.Second)
			time.Sleep(wait)
		}
		if diff := cmp.Diff([]time.Duration{30, 60, 120, 240, 480, 600, 600}, got); diff != "" {
			t.Error(diff)
		}
		if len(tr.Credentials()) != 0 {
			t.Errorf("the credential is shown as rejected: %+v", tr.Credentials())
		}
	})
}

func TestSnapshotShowsBackoffs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := tracker()
		tr.pick("openai", two[:1])
		tr.Report(limited(20 * time.Second))
		until := time.Now().Add(20 * time.Second)
		if got := tr.Snapshot()[0]; got.Circuit != "open" || got.Reason != "rate_limit" || !got.NextProbe.Equal(until) || got.Share != 0 {
			t.Errorf("target %+v", got)
		}
		want := []CredentialHealth{{ID: "openai#1", Until: until, Reason: "rate_limit"}}
		if diff := cmp.Diff(want, tr.Credentials()); diff != "" {
			t.Error(diff)
		}
		tr.Report(Report{Target: "openai/gpt-4.1-mini", Credential: "openai#1"})
		if got := tr.Credentials(); got != nil {
			t.Errorf("a credential that serves another model is shown as backing off: %+v", got)
		}
		tr.ResetCredential("openai#1")
		if got := tr.State(here).BackingOff; got != 0 {
			t.Errorf("backs off %s after Wake, want 0", got)
		}
	})
}

func TestBackoffsAreListedUntilTheyEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := tracker()
		tr.Admit(here, two, false)
		limited := fail(llm.UpstreamRateLimited)
		limited.RetryAfter = 30 * time.Second
		tr.Report(Report{Target: here, Credential: two[0], Err: limited})
		tr.Report(Report{Target: here, Credential: two[1], Err: fail(llm.UpstreamAuth)})
		want := []ActiveBackoff{
			{Target: here, Credential: two[0], Reason: llm.UpstreamRateLimited, Until: time.Now().Add(30 * time.Second), Strikes: 1},
			{Credential: two[1], Reason: llm.UpstreamAuth, Until: time.Now().Add(time.Minute), Strikes: 1},
		}
		if diff := cmp.Diff(want, tr.Backoffs()); diff != "" {
			t.Error(diff)
		}
		time.Sleep(45 * time.Second)
		if diff := cmp.Diff(want[1:], tr.Backoffs()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSnapshotNamesTheRuleThatOpenedACircuit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := tracker()
		began := time.Now()
		tr.repeat(5, Report{Target: here, Err: fail(llm.UpstreamServer)})
		if h := tr.Snapshot()[0]; h.Cause != (Cause{Rule: ConsecutiveFailures, Failures: 5}) || !h.Since.Equal(began) {
			t.Errorf("after five failures: %+v since %v", h.Cause, h.Since)
		}
		for tries := 1; tries <= 2; tries++ {
			time.Sleep(6 * time.Second)
			if probe, ok := tr.admit(here, false); !probe || !ok {
				t.Fatalf("probe, ok = %t, %t; want a probe", probe, ok)
			}
			tr.Report(Report{Target: here, Err: fail(llm.UpstreamServer), Probe: true})
			if h := tr.Snapshot()[0]; h.Cause != (Cause{Rule: FailedProbe, Failures: tries}) || !h.Since.Equal(began) {
				t.Errorf("after %d failed probes: %+v since %v", tries, h.Cause, h.Since)
			}
		}
		tr.Reset(here)
		if h := tr.Snapshot()[0]; h.Cause != (Cause{}) || !h.Since.IsZero() {
			t.Errorf("after a reset: %+v", h)
		}
	})
}
