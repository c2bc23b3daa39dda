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
				t.Errorf("picked %q, want openai#2", id)
			}
		}
		if s, c := tr.State(here), tr.Snapshot()[0].Circuit; s.Open || c != "closed" {
			t.Errorf("open = %t, circuit %q; want a closed circuit while one credential works", s.Open, c)
		}
		if p, ok := tr.Admit("openai/other", two[:1], false); !ok || p.Credential != "openai#1" {
			t.Errorf("Admit of another model = %+v, %t; want openai#1", p, ok)
		}
		tr.repeat(5, Report{Target: here, Credential: "openai#2", Err: fail(llm.UpstreamServer)})
		_, ok := tr.Admit(here, two, true)
		if s, c := tr.State(here), tr.Snapshot()[0].Circuit; ok || !s.Open || c != "open" {
			t.Errorf("admitted = %t, open = %t, circuit %q; want an open circuit", ok, s.Open, c)
		}
		time.Sleep(3 * time.Second)
		first, ok := tr.Admit(here, two, false)
		if _, second := tr.Admit(here, two, false); !ok || !first.Probe || second {
			t.Errorf("first Admit = %+v, %t, second %t; want one probe at a time for both credentials", first, ok, second)
		}
		tr.Report(Report{Target: here, Credential: first.Credential, Probe: true})
		second, ok := tr.Admit(here, two, true)
		if !ok || !second.Probe || second.Credential == first.Credential {
			t.Errorf("the other credential is not probed: %+v", second)
		}
	})
}

func TestHasOtherCredential(t *testing.T) {
	t.Parallel()
	tr := tracker()
	if !tr.HasOtherCredential(here, two, "openai#1") {
		t.Error("HasOtherCredential = false with two credentials, want true")
	}
	if tr.HasOtherCredential(here, two[:1], "openai#1") || tr.HasOtherCredential(here, nil, "") {
		t.Error("HasOtherCredential = true with one credential or none, want false")
	}
}
