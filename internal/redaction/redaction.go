// Package redaction applies the redaction rules of workspaces to log entries, within time limits.
package redaction

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/redact"
	"fairlead.dev/internal/requestlog"
)

// Time limits for redaction rules. All workspaces share one delivery queue. Therefore both the time for the rules of each workspace and the
// total time that a batch waits are limited. If an entry is not redacted in time, its text is dropped, so that no unredacted text is
// stored.
const (
	redactEntryTime = 2 * time.Second        // limit for one entry
	redactShownTime = 100 * time.Millisecond // limit for one row of the live view, which is redacted on the request path
	redactBatchTime = 250 * time.Millisecond // time that every batch may take, regardless of the remaining allowance
	redactFree      = 50 * time.Nanosecond   // time per byte that is not deducted from an allowance: twice the time of all built-in rules
	redactWarnEvery = time.Minute
)

// Filter redacts entries according to the rules of their workspaces.
type Filter struct {
	workspace func(workspaceID string) *account.Workspace // returns a workspace, or nil if it is unknown
	standard  func() []string                             // returns the standard rules of the instance
	log       *slog.Logger
	now       func() time.Time
	waiting   *allowance // allowance for the time that delivery may wait for slow rules
	workers   sync.WaitGroup

	mu      sync.Mutex
	tenants map[string]*tenantRules
}

// tenantRules holds the compiled rules of a workspace.
type tenantRules struct {
	own      *redact.Rules // source of the rules; nil for the standard rules
	standard []string
	redactor *redact.Redactor // redactor for the rules; nil if no rule applies
	broken   bool             // whether the rules could not be compiled
	version  string           // version of the rules; empty if there are none
	usage    *tenantUsage
}

// tenantUsage limits the time that a workspace uses for redaction. It is retained when the rules change.
type tenantUsage struct {
	*allowance
	busy   atomic.Bool  // whether a worker is running; its batch may already have ended
	warned atomic.Int64 // time of the last warning in Unix nanoseconds
}

// allowance is an amount of time that is consumed and refilled.
type allowance struct {
	most   time.Duration
	refill time.Duration // divisor of the elapsed time; the quotient is added to the allowance

	mu   sync.Mutex
	left time.Duration
	at   time.Time
}

func newAllowance(maximum time.Duration, refill int, now time.Time) *allowance {
	return &allowance{most: maximum, refill: time.Duration(refill), left: maximum, at: now}
}

// New returns a filter that uses the rules of each workspace, or the standard rules for a workspace without its own.
func New(workspace func(string) *account.Workspace, standard func() []string, log *slog.Logger) *Filter {
	return &Filter{
		workspace: workspace, standard: standard, log: log, now: time.Now,
		waiting: newAllowance(2*time.Second, 10, time.Now()), tenants: map[string]*tenantRules{},
	}
}

// of returns the active rules of a workspace. The keyring returns a new workspace after a change, so an equal pointer means that
// the compiled rules are current.
func (r *Filter) of(workspaceID string) *tenantRules {
	var own *redact.Rules
	if w := r.workspace(workspaceID); w != nil {
		own = w.Redaction
	}
	standard := r.standard()
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tenants[workspaceID]
	if t != nil && t.own == own && slices.Equal(t.standard, standard) {
		return t
	}
	usage := &tenantUsage{allowance: newAllowance(5*time.Second, 4, r.now())}
	if t != nil {
		usage = t.usage // new rules do not reset the allowance
	}
	t = &tenantRules{own: own, standard: standard, usage: usage}
	rules := redact.Rules{Builtin: standard}
	if own != nil {
		rules = *own
	}
	if !rules.Empty() {
		text, err := json.Marshal(rules)
		if err != nil {
			panic(err) // impossible, because the rules contain only strings
		}
		sum := sha256.Sum256(text)
		t.version = hex.EncodeToString(sum[:])
		redactor, err := redact.New(rules)
		t.redactor, t.broken = redactor, err != nil
		if err != nil {
			r.log.Error("invalid redaction rules, bodies are not stored", "workspace", workspaceID, "error", err.Error())
		}
	}
	r.tenants[workspaceID] = t
	return t
}

// Version returns an identifier of the active rules of a workspace, or an empty string if there are none.
func (r *Filter) Version(workspaceID string) string { return r.of(workspaceID).version }

// RedactBatch redacts the entries of a batch before they are written, with the workspaces in parallel. The text of entries that are not
// redacted in time is removed.
func (r *Filter) RedactBatch(entries []requestlog.Entry) {
	groups := map[*tenantRules][]int{}
	size, waiting := 0, 0
	for i := range entries {
		t := r.of(entries[i].WorkspaceID)
		switch {
		case t.broken:
			withhold(&entries[i])
		case t.redactor != nil:
			groups[t] = append(groups[t], i)
			size += textLen(&entries[i])
			waiting++
		case entries[i].Body.Split && len(entries[i].Preview) > llm.PreviewBytes:
			// The preview is still the PreviewSource: the workspace had rules when the request was split, but has none now.
			entries[i].Preview = shorten(entries[i].Preview)
		}
	}
	if waiting == 0 {
		return
	}
	began := r.now()
	free := redactBatchTime + time.Duration(size)*redactFree
	timer := time.NewTimer(free + max(r.waiting.grant(began), 0))
	defer timer.Stop()
	ready := make(chan redactedEntry, waiting) // buffered, so that workers never block
	over := &atomic.Bool{}
	for t, group := range groups {
		r.startWorker(t, entries, group, ready, over)
	}
	done := make([]bool, len(entries))
	for expired := false; waiting > 0 && !expired; {
		select {
		case e := <-ready:
			entries[e.at], done[e.at] = e.entry, true
			waiting--
		case <-timer.C:
			expired = true
		}
	}
	over.Store(true)
	r.waiting.spend(r.now().Sub(began) - free)
	for t, group := range groups {
		for _, i := range group {
			if !done[i] {
				withhold(&entries[i])
				r.warn(t, entries[i].WorkspaceID)
			}
		}
	}
}

// textLen returns the total length of the bodies of an entry.
func textLen(e *requestlog.Entry) int {
	return len(e.Body.Request) + len(e.Body.Parts) + len(e.Body.Response)
}

// redactedEntry is a redacted entry with its index in the batch.
type redactedEntry struct {
	at    int
	entry requestlog.Entry
}

// startWorker redacts the entries of one workspace. If the batch ends while the worker searches a string, the worker stops only after this
// search. Therefore it works on copies of the bodies, and a workspace has only one worker at a time. While the worker of an earlier batch
// is running, the text of new entries is not stored.
func (r *Filter) startWorker(t *tenantRules, entries []requestlog.Entry, group []int, ready chan<- redactedEntry, over *atomic.Bool) {
	copies := make([]redactedEntry, len(group))
	for i, at := range group {
		e := entries[at]
		e.Body.Request, e.Body.Response, e.Recorded.JSON = bytes.Clone(e.Body.Request), bytes.Clone(e.Body.Response), bytes.Clone(e.Recorded.JSON)
		e.Body.Parts = bytes.Clone(e.Body.Parts)
		copies[i] = redactedEntry{at, e}
	}
	if !t.usage.busy.CompareAndSwap(false, true) {
		for i := range copies {
			withhold(&copies[i].entry)
			ready <- copies[i]
		}
		r.warn(t, copies[0].entry.WorkspaceID)
		return
	}
	r.workers.Go(func() {
		defer t.usage.busy.Store(false)
		for i := range copies {
			if over.Load() {
				return
			}
			r.redact(t, &copies[i].entry, over.Load)
			ready <- copies[i]
		}
	})
}

// Wait returns when no worker is running.
func (r *Filter) Wait() { r.workers.Wait() }

// redact applies the rules of a workspace to an entry, or removes the text of the entry if the rules take too long.
func (r *Filter) redact(t *tenantRules, e *requestlog.Entry, over func() bool) {
	began := r.now()
	end := began.Add(min(redactEntryTime, t.usage.grant(began)))
	pass := t.redactor.Begin(func() bool { return over() || !r.now().Before(end) })
	size := time.Duration(textLen(e))
	redactTexts(pass, e)
	redactBodies(pass, e)
	t.usage.spend(r.now().Sub(began) - size*redactFree)
	if pass.Stopped() {
		withhold(e)
		r.warn(t, e.WorkspaceID)
	}
}

// RedactRow returns a redacted copy of an entry for the live view, without its bodies and its decision.
func (r *Filter) RedactRow(e *requestlog.Entry) *requestlog.Entry {
	t := r.of(e.WorkspaceID)
	copied := *e
	copied.Decision, copied.Body = nil, requestlog.Body{}
	if t.redactor == nil {
		if t.broken {
			withhold(&copied)
		}
		return &copied
	}
	began := r.now()
	end := began.Add(min(redactShownTime, t.usage.grant(began)))
	pass := t.redactor.Begin(func() bool { return !r.now().Before(end) })
	redactTexts(pass, &copied)
	copied.Preview = redactPreview(pass, e, nil, e.Body.Request)
	t.usage.spend(r.now().Sub(began) - time.Duration(len(e.Body.Request))*redactFree)
	if pass.Stopped() {
		withhold(&copied)
	}
	return &copied
}

// grant refills the allowance and returns the time that may be used now.
func (a *allowance) grant(now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left = min(a.most, a.left+max(0, now.Sub(a.at))/a.refill)
	a.at = now
	return a.left
}

func (a *allowance) spend(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left -= max(0, d)
}

func (r *Filter) warn(t *tenantRules, workspaceID string) {
	now, last := r.now().UnixNano(), t.usage.warned.Load()
	if now-last >= int64(redactWarnEvery) && t.usage.warned.CompareAndSwap(last, now) {
		r.log.Warn("redaction rules too slow, bodies are not stored", "workspace", workspaceID)
	}
}
