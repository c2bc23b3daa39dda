package main

import "testing"

func TestBehaviourRelations(t *testing.T) {
	t.Parallel()
	// decided returns a decision for a model. weak is the probability of the weak model; the other probabilities are slightly higher.
	decided := func(model string, weak float64) Judged {
		return Judged{
			Model: model, Success: map[string]float64{"weak": weak, "middle": weak + 0.02, "strong": weak + 0.04},
			Cost: map[string]float64{"weak": 1, "middle": 3, "strong": 10},
		}
	}
	for name, c := range map[string]struct {
		relation string
		roles    map[string]Judged
		want     bool
	}{
		"equal choices":              {"same", map[string]Judged{"a": decided("weak", 0.5), "b": decided("weak", 0.6)}, true},
		"other choices":              {"same", map[string]Judged{"a": decided("weak", 0.5), "b": decided("strong", 0.5)}, false},
		"a reply like its task":      {"inherit", map[string]Judged{"task": decided("weak", 0.5), "next": decided("weak", 0.58)}, true},
		"a reply unlike its task":    {"inherit", map[string]Judged{"task": decided("weak", 0.5), "next": decided("weak", 0.7)}, false},
		"easier":                     {"easier", map[string]Judged{"a": decided("weak", 0.6), "b": decided("weak", 0.5)}, true},
		"equally easy":               {"easier", map[string]Judged{"a": decided("weak", 0.51), "b": decided("weak", 0.5)}, false},
		"harder":                     {"harder", map[string]Judged{"a": decided("weak", 0.4), "b": decided("weak", 0.5)}, true},
		"a cheap model":              {"housekeeping", map[string]Judged{"a": decided("weak", 0.5)}, true},
		"an expensive model":         {"housekeeping", map[string]Judged{"a": decided("middle", 0.5)}, false},
		"escalation":                 {"trouble", map[string]Judged{"f0": decided("weak", 0.6), "f1": decided("weak", 0.6), "f3": decided("middle", 0.5), "f6": decided("strong", 0.4)}, true},
		"no escalation":              {"trouble", map[string]Judged{"f0": decided("weak", 0.6), "f1": decided("weak", 0.6), "f3": decided("weak", 0.5), "f6": decided("strong", 0.4)}, false},
		"strongest from the start":   {"trouble", map[string]Judged{"f0": decided("strong", 0.6), "f1": decided("strong", 0.6), "f3": decided("strong", 0.5), "f6": decided("strong", 0.4)}, true},
		"escalation without a fall":  {"trouble", map[string]Judged{"f0": decided("weak", 0.6), "f1": decided("weak", 0.6), "f3": decided("middle", 0.58), "f6": decided("strong", 0.4)}, false},
		"weaker again":               {"trouble", map[string]Judged{"f0": decided("weak", 0.6), "f1": decided("weak", 0.6), "f3": decided("strong", 0.5), "f6": decided("middle", 0.4)}, false},
		"recovery":                   {"recovered", map[string]Judged{"f0": decided("weak", 0.6), "f3": decided("strong", 0.4), "ok": decided("weak", 0.6)}, true},
		"still escalated":            {"recovered", map[string]Judged{"f0": decided("weak", 0.6), "f3": decided("strong", 0.4), "ok": decided("strong", 0.6)}, false},
		"a relation that is unknown": {"other", map[string]Judged{"a": decided("weak", 0.5)}, false},
	} {
		item, decisions := Behaviour{ID: "x", Relation: c.relation, Requests: map[string]string{}}, map[string]Judged{}
		for role, d := range c.roles {
			item.Requests[role], decisions[role] = role, d
		}
		results := EvaluateBehaviour([]Behaviour{item}, decisions)
		if len(results) != 1 || results[0].Items != 1 || (results[0].Passed == 1) != c.want {
			t.Errorf("%s: got %+v, want passed = %t", name, results, c.want)
		}
	}
	missing := EvaluateBehaviour([]Behaviour{{ID: "x", Relation: "same", Requests: map[string]string{"a": "nowhere"}}}, nil)
	if missing[0].Passed != 0 {
		t.Errorf("a missing decision passed: %+v", missing)
	}
}
