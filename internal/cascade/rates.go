package cascade

import (
	"math"
	"sync"
	"time"

	"fairlead.dev/internal/predict"
)

const (
	// halfLife is the time after which the weight of an observation is halved. Old failures fade, so a model that failed often is
	// eventually tried again.
	halfLife = 24 * time.Hour
	// maxCount limits the weight of earlier observations, so that a changed failure rate takes effect within about maxCount responses.
	maxCount = 200
	maxRates = 20_000 // maximum number of counts in memory
)

// rateKey identifies responses that are counted together.
type rateKey struct {
	workspace string
	task      predict.Task
	target    string
}

// count holds the numbers of checked and failed responses, weighted by age. The field at is the time for which the weights apply.
type count struct {
	checked, failed float64
	at              time.Time
}

// decayed returns the count with the weights at the given time. The weights do not change if now is before c.at.
func (c count) decayed(now time.Time) count {
	factor := math.Exp2(-max(0, now.Sub(c.at)).Hours() / halfLife.Hours())
	return count{c.checked * factor, c.failed * factor, now}
}

// rates counts check results.
type rates struct {
	mu     sync.Mutex
	now    func() time.Time
	counts map[rateKey]count
}

func (r *rates) add(key rateKey, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.counts[key]; !known && len(r.counts) >= maxRates {
		clear(r.counts) // until new responses are checked, the router uses predicted failure rates
	}
	c := r.counts[key].decayed(r.now())
	c.checked++
	if failed {
		c.failed++
	}
	if c.checked > maxCount {
		c.checked, c.failed = maxCount, c.failed*maxCount/c.checked
	}
	r.counts[key] = c
}

// Observed implements gateway.Checker.
func (c *Checker) Observed(workspaceID string, task predict.Task, target string) (checked, failed float64) {
	c.rates.mu.Lock()
	defer c.rates.mu.Unlock()
	seen, ok := c.rates.counts[rateKey{workspaceID, task, target}]
	if !ok {
		return 0, 0
	}
	seen = seen.decayed(c.rates.now())
	return math.Round(seen.checked*1000) / 1000, math.Round(seen.failed*1000) / 1000
}
