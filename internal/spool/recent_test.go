package spool

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEntriesFromMemoryAreAsOnDisk(t *testing.T) {
	t.Parallel()
	s := open(t, newMemFS(), Options{})
	mustRecord(t, s, "req_1")
	must(t, s.End(entry("req_2")))

	quick, err := s.read(position{}, 10)
	must(t, err)
	if len(s.recent) != 2 {
		t.Fatalf("%d entries are in memory, want 2", len(s.recent))
	}
	clear(s.recent)
	slow, err := s.read(position{}, 10)
	must(t, err)

	if diff := cmp.Diff(slow.entries, quick.entries); diff != "" {
		t.Error(diff)
	}
}

func TestMemoryOfEntriesIsBoundedAndGivenBack(t *testing.T) {
	t.Parallel()
	s := open(t, newMemFS(), Options{})
	for i := range recentLimit + 10 {
		must(t, s.End(entry(fmt.Sprintf("req_%05d", i))))
	}
	if len(s.recent) != recentLimit {
		t.Errorf("%d entries are in memory, want %d", len(s.recent), recentLimit)
	}
	db := newDatabase()
	drain(t, s, db)
	if len(s.recent) != 0 || len(db.ids()) != recentLimit+10 {
		t.Errorf("%d entries are left in memory, %d arrived", len(s.recent), len(db.ids()))
	}
}
