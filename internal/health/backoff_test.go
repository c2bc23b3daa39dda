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
		for range 9 {
			tr.Report(Report{Target: here, Credential: "openai#1", Err: fail(llm.UpstreamDenied)})
			wait := tr.Wait(here, two[:1])
			got = append(got, wait/time.Second)
			time.Sleep(wait)
		}
		if diff := cmp.Diff([]time.Duration{30, 60, 120, 240, 480, 960, 1920, 3600, 3600}, got); diff != "" {
			t.Error(diff)
		}
		if len(tr.Credentials()) != 0 {
			t.Errorf("the credential is shown as rejected: %+v", tr.Credentials())
		}
		tr.pick("openai", two[:1])
		tr.Report(Report{Target: here, Credential: "openai#1", Err: fail(llm.UpstreamDenied)})
		if got := tr.Snapshot()[0]; got.Circuit != "closed" || !got.Denied || !tr.State(here).Denied {
			t.Errorf("target %+v, want a closed circuit of a denied model", got)
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
