package llm

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestAbilitiesRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set := Abilities(rapid.Uint32Range(0, 1<<len(abilityNames)-1).Draw(t, "set"))
		raw, err := json.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}
		read := Tools // Unmarshal must overwrite this value
		if err := json.Unmarshal(raw, &read); err != nil || read != set {
			t.Fatalf("%s was decoded as %s: %v", raw, read, err)
		}
		var parsed Abilities
		for _, name := range set.Names() {
			one, err := ParseAbility(name)
			if err != nil {
				t.Fatal(err)
			}
			parsed |= one
		}
		if parsed != set {
			t.Fatalf("%s was parsed as %s", set, parsed)
		}
	})
}

func TestAbilityNamesMatchTheirConstants(t *testing.T) {
	t.Parallel()
	want := map[Abilities]string{
		Tools: "tools", ParallelTools: "parallel_tools", Vision: "vision", AudioIn: "audio_in", AudioOut: "audio_out", Files: "files",
		JSONMode: "json_mode", JSONSchema: "json_schema", Logprobs: "logprobs", ManyChoices: "many_choices", Reasoning: "reasoning",
		Prefill: "prefill", ResponsesAPI: "responses_api", WebSearch: "web_search", MessagesAPI: "messages_api",
	}
	if len(want) != len(abilityNames) {
		t.Errorf("the test lists %d abilities, the package has %d names", len(want), len(abilityNames))
	}
	for ability, name := range want {
		if ability.String() != name {
			t.Errorf("String = %q, want %q", ability, name)
		}
	}
	if got := (Tools | Vision).String(); got != "tools+vision" {
		t.Errorf("String = %q, want tools+vision", got)
	}
}

func TestAbilitiesRejectUnknownNames(t *testing.T) {
	t.Parallel()
	var set Abilities
	for _, raw := range []string{`["tools","telepathy"]`, `"tools"`, `[1]`} {
		if err := json.Unmarshal([]byte(raw), &set); err == nil {
			t.Errorf("%s was decoded as %s, want an error", raw, set)
		}
	}
}

func TestAbilitiesHasAndMissing(t *testing.T) {
	t.Parallel()
	have := Tools | Vision
	if !have.Has(0) || !have.Has(Tools) || !have.Has(have) {
		t.Errorf("Has = false for a subset of %s", have)
	}
	if have.Has(Tools | Files) {
		t.Errorf("%s.Has(Tools|Files) = true, want false", have)
	}
	if diff := cmp.Diff([]string{"files"}, have.Missing(Tools|Files).Names()); diff != "" {
		t.Error(diff)
	}
	if names := Abilities(0).Names(); names == nil || len(names) != 0 {
		t.Errorf("names of the empty set = %#v, want an empty list", names) // nil is encoded as null
	}
}

func TestUsageSums(t *testing.T) {
	t.Parallel()
	u := Usage{Input: 1, CacheRead: 20, CacheWrite: 300, Output: 4000, Reasoning: 3000}
	if u.Prompt() != 321 || u.Total() != 4321 {
		t.Errorf("prompt %d, total %d; want 321, 4321 (output includes reasoning)", u.Prompt(), u.Total())
	}
}
