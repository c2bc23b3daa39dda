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

	var quick, slow piece
	must(t, s.read(&quick, position{}, 10))
	if len(s.recent.entries) != 2 {
		t.Fatalf("%d entries are in memory, want 2", len(s.recent.entries))
	}
	clear(s.recent.entries)
	must(t, s.read(&slow, position{}, 10))

	if diff := cmp.Diff(slow.entries, quick.entries); diff != "" {
		t.Error(diff)
	}
}

func TestMemoryOfEntriesIsBoundedAndGivenBack(t *testing.T) {
	t.Parallel()
	s := open(t, newMemFS(), Options{})
	most := recentBytes / weight(entry("req"))
	for i := range most + 10 {
		must(t, s.End(entry(fmt.Sprintf("req_%05d", i))))
	}
	if len(s.recent.entries) != most || s.recent.bytes > recentBytes {
		t.Errorf("%d entries are in memory, want %d", len(s.recent.entries), most)
	}
	db := newDatabase()
	drain(t, s, db)
	if len(s.recent.entries) != 0 || s.recent.bytes != 0 || len(db.ids()) != most+10 {
		t.Errorf("%d entries are left in memory, %d arrived", len(s.recent.entries), len(db.ids()))
	}
}
