package health

import (
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/internal/llm"
)

func TestEachCredentialHasItsOwnCircuitAtATarget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := tracker()
		tr.pick("openai", two)
		tr.repeat(5, Report{Target: here, Credential: "openai#1", Err: fail(llm.UpstreamServer)})
		for range 4 {
			if id, _ := tr.pick("openai", two); id != "openai#2" {
				t.Errorf("picked %q", id)
			}
		}
		if tr.State(here).Open || tr.Snapshot()[0].Circuit != "closed" {
			t.Error("the target counts as open although a credential is served")
		}
		if p, ok := tr.Admit("openai/other", two[:1], false); !ok || p.Credential != "openai#1" {
			t.Error("another model of the provider is left alone too")
		}
		tr.repeat(5, Report{Target: here, Credential: "openai#2", Err: fail(llm.UpstreamServer)})
		if _, ok := tr.Admit(here, two, true); ok || !tr.State(here).Open || tr.Snapshot()[0].Circuit != "open" {
			t.Error("in use although both circuits are open")
		}
		time.Sleep(3 * time.Second)
		first, ok := tr.Admit(here, two, false)
		if _, second := tr.Admit(here, two, false); !ok || !first.Probe || second {
			t.Error("not exactly one probe at a time for both credentials")
		}
		tr.Report(Report{Target: here, Credential: first.Credential, Probe: true})
		second, ok := tr.Admit(here, two, true)
		if !ok || !second.Probe || second.Credential == first.Credential {
			t.Errorf("the other credential is not probed: %+v", second)
		}
	})
}

func TestNoCredentialIsUsableWhenOneBacksOffAndOneFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := tracker()
		tr.pick("openai", two)
		tr.repeat(5, Report{Target: here, Credential: "openai#1", Err: fail(llm.UpstreamServer)})
		tr.Report(Report{Target: here, Credential: "openai#2", Err: &llm.Error{Kind: llm.UpstreamRateLimited, RetryAfter: time.Minute}})
		if s := tr.State(here); !s.Open || s.BackingOff != 0 {
			t.Errorf("state %+v", s)
		}
		if tr.HasOtherCredential(here, two, "openai#1") || tr.HasOtherCredential(here, two, "openai#2") {
			t.Error("there is a spare credential")
		}
	})
}

func TestHasOtherCredential(t *testing.T) {
	t.Parallel()
	tr := tracker()
	if !tr.HasOtherCredential(here, two, "openai#1") || tr.HasOtherCredential(here, two[:1], "openai#1") || tr.HasOtherCredential(here, nil, "") {
		t.Error("a spare credential is another one")
	}
}
