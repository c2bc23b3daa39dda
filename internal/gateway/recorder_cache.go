package gateway

import (
	"net/http"
	"time"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/responsecache"
	"fairlead.dev/internal/route"
)

// cacheUse records the response to a request that missed the response cache. The zero value records nothing.
type cacheUse struct {
	Flight *responsecache.Flight // stores the whole response; nil if the response is not cached as a whole
	Inputs *responsecache.Inputs // stores the results for single inputs; nil unless the request is for embeddings
}

// RecordCache records whether the cache had the response. found is nil for a miss.
func (r *recorder) RecordCache(found *responsecache.Response) {
	r.Entry.Cache = &requestlog.Cache{Status: requestlog.CacheMiss}
	if found != nil {
		r.Entry.Cache = &requestlog.Cache{Status: requestlog.CacheHit, Age: found.Age(time.Now()), Source: found.RequestID, Saved: found.Cost}
	}
}

// RecordHit records a response from the cache. The cost of a hit is not compared with the baseline, because routing did not cause the
// savings.
func (r *recorder) RecordHit(found *responsecache.Response, d *route.Decision) {
	e := r.Entry
	e.Model, e.Provider, e.Simulated, e.ServedAs, e.Finish = found.Model, found.Provider, found.Simulated, found.ServedAs, found.Finish
	e.DecisionKind = d.Kind
	e.Outcome, e.Status = requestlog.OK, http.StatusOK
	e.Cost = new(money.Amount)
	if r.StoresText() {
		r.Buffer.Limit = r.settings.BodyLimit
	}
}

// RecordStored discards a response that is incomplete or comes from a model other than the first model of the plan, so that it is not
// cached. It records the reason why a response is not cached.
func (r *recorder) RecordStored(t *provider.Target, d *route.Decision) {
	if r.Cache.Flight == nil {
		return
	}
	switch {
	case r.Entry.Finish != "stop":
		r.Cache.Flight.Discard(responsecache.Incomplete)
	case t.Model.Name != d.Plan[0].Model.Name:
		r.Cache.Flight.Discard(responsecache.OtherModel)
	}
	r.Entry.Cache.Reason = r.Cache.Flight.Reason()
}
