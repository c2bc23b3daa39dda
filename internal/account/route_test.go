package account_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/route"
)

func TestRoutesAreStoredAndAudited(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	owner := f.owner("ann@example.com")
	support, nightly := route.Route{Name: "support", Pool: []string{"a"}, Tradeoff: new(0.2)}, route.Route{Name: "nightly", Shares: []route.Share{{Model: "b", Percent: 5}}}
	for _, one := range []route.Route{{Name: "support"}, nightly, support} {
		f.clock.pass(time.Second)
		f.must(f.SetRoute(f.ctx, owner, one))
	}
	w, err := f.Workspace(f.ctx, owner.WorkspaceID)
	f.must(err)
	if diff := cmp.Diff([]route.Route{nightly, support}, w.Routes); diff != "" {
		t.Error(diff)
	}
	events, err := f.Audit(f.ctx, owner.WorkspaceID, "", 1)
	f.must(err)
	if e := events[0]; e.Action != "route.update" || e.Object != "support" || !strings.Contains(string(e.After), `"tradeoff":0.2`) || strings.Contains(string(e.Before), "tradeoff") {
		t.Errorf("%+v", e)
	}
	f.must(f.DeleteRoute(f.ctx, owner, "support"))
	f.refused(f.DeleteRoute(f.ctx, owner, "support"), llm.NotFound, "")
}

func TestInstanceEventsAreInTheFirstWorkspace(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	f.must(f.NoteInstance(f.ctx, "router", "pool.changed", "auto", "lost"))
	owner := f.owner("ann@example.com")
	f.clock.pass(time.Second)
	f.must(f.NoteInstance(f.ctx, "router", "pool.changed", "auto", "kept"))
	events, err := f.InstanceEvents(f.ctx, "pool.changed", 20)
	f.must(err)
	if len(events) != 1 || events[0].WorkspaceID != owner.WorkspaceID || events[0].Actor != "router" || string(events[0].After) != `"kept"` {
		t.Errorf("%+v", events)
	}
}
