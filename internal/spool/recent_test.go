package spool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

func TestEntriesFromMemoryEqualThoseOnDisk(t *testing.T) {
	t.Parallel()
	s := open(t, newMemFS(), Options{})
	mustRecord(t, s, "req_1")
	decided := entry("req_2")
	decided.Decision = &route.Decision{
		Kind: route.Expected, Candidates: []route.Candidate{{Target: "p/m"}},
		Policies: []route.PolicyHit{route.NewPolicyHit("rule", "", false, "", `a == "b" is false`)},
	}
	must(t, s.End(decided))
	many := entry("req_3")
	many.Decision = manyConsidered()
	must(t, s.End(many))

	var quick, slow piece
	must(t, s.read(&quick, position{}, 10))
	if len(s.recent.entries) != 3 {
		t.Fatalf("%d entries are in memory, want 3", len(s.recent.entries))
	}
	if most := weight(&s.recent.entries["req_3"].Entry); most > weight(decided) {
		t.Errorf("an entry with many candidates takes %d bytes of memory, want at most %d", most, weight(decided))
	}
	clear(s.recent.entries)
	must(t, s.read(&slow, position{}, 10))

	var decision *route.Decision
	must(t, json.Unmarshal(quick.entries[1].DecisionJSON(), &decision))
	if diff := cmp.Diff(slow.entries[1].Decision, decision); diff != "" || decision == nil {
		t.Errorf("the decision was recorded as %v: %s", decision, diff)
	}
	for i := range quick.entries { // compare entries with decoded decisions
		e := &quick.entries[i]
		whole, err := e.WholeDecision()
		must(t, err)
		e.Decision, e.Recorded = whole, requestlog.Recorded{}
	}
	if diff := cmp.Diff(slow.entries, quick.entries); diff != "" {
		t.Error(diff)
	}
}

// manyConsidered returns a decision with more candidates than an entry keeps in memory.
func manyConsidered() *route.Decision {
	d := &route.Decision{Kind: route.Expected}
	for i := range manyCandidates + 1 {
		d.Candidates = append(d.Candidates, route.Candidate{Target: fmt.Sprintf("p/m-%d", i)})
	}
	return d
}

func TestMemoryOfEntriesIsBoundedAndReleased(t *testing.T) {
	t.Parallel()
	s := open(t, newMemFS(), Options{})
	most := recentBytes / weight(entry("req"))
	for i := range most + 10 {
		must(t, s.End(entry(fmt.Sprintf("req_%05d", i))))
	}
	if len(s.recent.entries) != most || s.recent.bytes > recentBytes {
		t.Errorf("%d entries with %d bytes in memory, want %d with at most %d", len(s.recent.entries), s.recent.bytes, most, recentBytes)
	}
	db := newDatabase()
	drain(t, s, db)
	if len(s.recent.entries) != 0 || s.recent.bytes != 0 || len(db.ids()) != most+10 {
		t.Errorf("%d entries remain in memory, %d delivered; want 0 and %d", len(s.recent.entries), len(db.ids()), most+10)
	}
}

func TestReusedMemoryHasNoDataOfThePreviousEntry(t *testing.T) {
	t.Parallel()
	s := open(t, newMemFS(), Options{})
	former := entry("req_1")
	former.Decision, former.Warnings, former.TraceID = manyConsidered(), []string{"former"}, "former"
	must(t, s.End(former))
	memory := s.recent.entries["req_1"]
	drain(t, s, newDatabase())
	next := entry("req_2")
	next.Decision = &route.Decision{Kind: route.Expected, Policies: []route.PolicyHit{}, Candidates: []route.Candidate{{Target: "p/m"}}}
	must(t, s.End(next))
	if s.recent.entries["req_2"] != memory {
		t.Fatal("the memory of the delivered entry was not reused")
	}

	var quick, slow piece
	must(t, s.read(&quick, s.backlog.pos, 10))
	clear(s.recent.entries)
	must(t, s.read(&slow, s.backlog.pos, 10))

	if quick.entries[0].Recorded.Short {
		t.Error("Short = true in reused memory, want false")
	}
	quick.entries[0].Recorded = requestlog.Recorded{}
	if diff := cmp.Diff(slow.entries, quick.entries); diff != "" {
		t.Error(diff)
	}
}

// Long texts keep the read buffer in memory, and short texts are copied. Both kinds remain intact in one batch.
func TestLongAndShortTextsInOneBatch(t *testing.T) {
	t.Parallel()
	s := open(t, newMemFS(), Options{})
	sizes := []int{10, chunkSize / 4, 10, chunkSize/8 + 1, 2 * chunkSize, 10, chunkSize / 2, 2000, 30_000, 10}
	for i, size := range slices.Repeat(sizes, 4) {
		e := entry(fmt.Sprintf("req_%03d", i))
		e.BodyState, e.Body = requestlog.BodyStored, requestlog.Body{Request: bytes.Repeat([]byte{byte(i)}, size), Response: []byte{byte(i)}}
		must(t, s.End(e))
	}
	var p piece
	for range 2 { // the second read reuses the memory of the first
		must(t, s.read(&p, position{}, 1000))
		if len(p.entries) != 4*len(sizes) {
			t.Fatalf("%d entries, want %d", len(p.entries), 4*len(sizes))
		}
		for i, e := range p.entries {
			if want := bytes.Repeat([]byte{byte(i)}, sizes[i%len(sizes)]); !bytes.Equal(e.Body.Request, want) || !bytes.Equal(e.Body.Response, want[:1]) {
				t.Errorf("entry %d has other bodies than recorded", i)
			}
		}
	}
}
