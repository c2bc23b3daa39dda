package policystore

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Each case lists the outcome with all models, the outcome without the model "gone", and the reported paths.
func TestRestrictionsSurviveRemovedModels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, source, before, after string
		paths                       []string
	}{
		{
			name: "valid policies are unchanged", source: pinning("small"),
			before: "pin small", after: "pin small",
		},
		{
			name: "a pin is disabled", source: pinning("gone"),
			before: "pin gone", after: "", paths: []string{"policies[0].pin"},
		},
		{
			name:   "other policies stay active",
			source: pinning("gone") + "  - {name: other, max_output_tokens: 10}\n  - {name: last, pin: large}\n",
			before: "pin gone, at most 10", after: "pin large, at most 10", paths: []string{"policies[0].pin"},
		},
		{
			name:   "restrictions stay, a pin does not",
			source: "policies:\n  - {name: mixed, pin: gone, exclude: {models: [small]}, max_output_tokens: 10}\n",
			before: "pin gone, not small, at most 10", after: "not small, at most 10", paths: []string{"policies[0].pin"},
		},
		{
			name:   "an exclusion of a removed model keeps its other names",
			source: "policies:\n  - name: out\n    exclude: {models: [gone, small]}\n",
			before: "not small, not gone", after: "not small, not gone", paths: []string{"policies[0].exclude.models[0]"},
		},
		{
			name:   "an allow list of removed models allows nothing",
			source: "policies:\n  - name: only\n    allow: {models: [gone]}\n",
			before: "not small, not large", after: "not small, not large", paths: []string{"policies[0].allow.models[0]"},
		},
		{
			name:   "a denial stays",
			source: pinning("gone") + "  - {name: no, when: request.task == \"code\", deny: Not here.}\n",
			before: "deny Not here.", after: "deny Not here.", paths: []string{"policies[0].pin"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newTestStore(newMemoryStorage())
			save(t, b, "ws_1", c.source, 0)
			if got := activeIn(b, "ws_1"); got != c.before || len(b.Problems("ws_1")) > 0 {
				t.Fatalf("with all models: %q, %v; want %q", got, b.Problems("ws_1"), c.before)
			}

			b.SetInstance(nil, inventoryOf("small", "large"))

			var paths []string
			for _, p := range b.Problems("ws_1") {
				paths = append(paths, p.Path)
			}
			if got := activeIn(b, "ws_1"); got != c.after {
				t.Errorf("without the model: %q, want %q", got, c.after)
			}
			if diff := cmp.Diff(c.paths, paths); diff != "" {
				t.Error(diff)
			}
			b.SetInstance(nil, defaultInventory())
			if got := activeIn(b, "ws_1"); got != c.before || len(b.Problems("ws_1")) > 0 {
				t.Errorf("with the model again: %q, %v; want %q", got, b.Problems("ws_1"), c.before)
			}
		})
	}
}

func TestInvalidConditionDisablesOnlyItsPolicy(t *testing.T) {
	t.Parallel()
	zoned := defaultInventory()
	zoned.Zone = time.LoadLocation
	b := New(newMemoryStorage(), nil, zoned, nil)
	save(t, b, "ws_1", "policies:\n  - {name: lost, when: 'time.hour(\"Europe/Berlin\") < 30', deny: Never.}\n  - {name: kept, deny: Never ever.}\n", 0)
	if got := activeIn(b, "ws_1"); got != "deny Never." {
		t.Fatalf("before the reload: active %q", got)
	}
	b.SetInstance(nil, defaultInventory()) // this inventory contains no time zone other than UTC
	if got := activeIn(b, "ws_1"); got != "deny Never ever." || len(b.Problems("ws_1")) != 1 {
		t.Errorf("after the reload: active %q, problems %v; want only the second policy and one problem", got, b.Problems("ws_1"))
	}
}

// A document accepted by an earlier release must not prevent startup.
func TestInvalidDocumentsAreReported(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"policies: [", "policies: 7", "[]", "rules: []", "policies:\n  - 7\n", "policies:\n  - {name: a, effect: b}\n"} {
		storage := newMemoryStorage()
		if _, err := storage.AddPolicies(t.Context(), "ws_1", 0, Version{Source: source}); err != nil {
			t.Fatal(err)
		}
		instance := parsed(t, pinning("small"))
		b := New(storage, instance, defaultInventory(), nil)
		reload(t, b)
		if got := activeIn(b, "ws_1"); got != "pin small" || len(b.Problems("ws_1")) == 0 {
			t.Errorf("%q: active %q, problems %v", source, got, b.Problems("ws_1"))
		}
	}
}
