package policy

import "testing"

func TestPartsReturnsJoinedSets(t *testing.T) {
	t.Parallel()
	parse := func(source string) *Set {
		set, problems := Parse("test", []byte(source), Inventory{AllowUnknown: true})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return set
	}
	a, b := parse("policies: [{name: same, objective: cost}]"), parse("policies: [{name: same, objective: speed}]")
	joined := Join(a, b)
	parts := joined.Parts()
	if len(parts) != 2 || parts[0] != a || parts[1] != b || joined.Version() != a.Version()+"+"+b.Version() {
		t.Errorf("%d parts, version %s; want both sets and version %s+%s", len(parts), joined.Version(), a.Version(), b.Version())
	}
	if alone := a.Parts(); len(alone) != 1 || alone[0] != a {
		t.Errorf("Parts of one set returned %d sets, want the set", len(alone))
	}
	if none := (*Set)(nil).Parts(); len(none) != 0 {
		t.Errorf("Parts of a nil set returned %d sets, want 0", len(none))
	}
}
