package app

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"fairlead/internal/account"
	"fairlead/internal/redact"
	"fairlead/internal/requestlog"
)

// Bounds on the time that rules take. Delivery is shared by all workspaces, so a workspace whose rules are slow is
// lent time for them, and without any left its texts are not stored: they must not be stored unredacted either.
const (
	redactEntryTime = 2 * time.Second        // for one entry on its way to the database
	redactShownTime = 100 * time.Millisecond // for a row of the live view, on the request's own path
	redactAllowance = 5 * time.Second        // that a workspace may use at once
	redactRefill    = 4                      // one second more is lent in this many
	redactFree      = 50 * time.Nanosecond   // a byte, not counted: what all built-in rules need, and as much again
	redactWarnEvery = time.Minute
)

// redaction takes out of entries what their workspaces do not want stored.
type redaction struct {
	workspace func(workspaceID string) *account.Workspace // nil when it is not known
	standard  func() []string                             // the instance's rules
	log       *slog.Logger
	now       func() time.Time

	mu      sync.Mutex
	tenants map[string]*tenantRules
}

// tenantRules are the compiled rules of a workspace, and the time it is lent for them.
type tenantRules struct {
	own      *redact.Rules // what they were made of; nil for the standard ones
	standard []string
	redactor *redact.Redactor // nil when nothing is to be taken out
	broken   bool             // they cannot be compiled

	mu     sync.Mutex
	left   time.Duration
	at     time.Time
	warned time.Time
}

func newRedaction(workspace func(string) *account.Workspace, standard func() []string, log *slog.Logger) *redaction {
	return &redaction{workspace: workspace, standard: standard, log: log, now: time.Now, tenants: map[string]*tenantRules{}}
}

// of returns the rules that are in force for a workspace. The keyring hands out another workspace when it has changed,
// so the pointer tells whether the compiled rules are still right.
func (r *redaction) of(workspaceID string) *tenantRules {
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
	left, at := redactAllowance, r.now()
	if t != nil {
		left, at = t.allowance() // new rules do not bring new time
	}
	t = &tenantRules{own: own, standard: standard, left: left, at: at}
	rules := redact.Rules{Builtin: standard}
	if own != nil {
		rules = *own
	}
	if !rules.Empty() {
		redactor, err := redact.New(rules)
		t.redactor, t.broken = redactor, err != nil
		if err != nil {
			r.log.Error("redaction rules cannot be used; texts are not stored", "workspace", workspaceID, "error", err.Error())
		}
	}
	r.tenants[workspaceID] = t
	return t
}

// prepare redacts an entry that is about to be written, or takes its texts away when that takes too long.
func (r *redaction) prepare(e *requestlog.Entry) {
	t := r.of(e.WorkspaceID)
	if t.redactor == nil {
		if t.broken {
			withhold(e)
		}
		return
	}
	began := r.now()
	end := began.Add(min(redactEntryTime, t.lend(began)))
	pass := t.redactor.Begin(func() bool { return !r.now().Before(end) })
	size := time.Duration(len(e.Body.Request) + len(e.Body.Response))
	redactTexts(pass, e)
	redactBodies(pass, e)
	t.spend(r.now().Sub(began) - size*redactFree)
	if pass.Stopped() {
		withhold(e)
		r.warn(t, e.WorkspaceID)
	}
}

// shown is an entry as the live view may show it. Its bodies do not go there.
func (r *redaction) shown(e *requestlog.Entry) requestlog.Entry {
	t := r.of(e.WorkspaceID)
	copied := *e
	copied.Decision, copied.Body = nil, requestlog.Body{}
	if t.redactor == nil {
		if t.broken {
			withhold(&copied)
		}
		return copied
	}
	end := r.now().Add(redactShownTime)
	pass := t.redactor.Begin(func() bool { return !r.now().Before(end) })
	redactTexts(pass, &copied)
	copied.Preview = redactPreview(pass, e, nil, e.Body.Request)
	if pass.Stopped() {
		withhold(&copied)
	}
	return copied
}

// lend is how much time the workspace may use now.
func (t *tenantRules) lend(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = min(redactAllowance, t.left+max(0, now.Sub(t.at))/redactRefill)
	t.at = now
	return t.left
}

func (t *tenantRules) spend(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left -= max(0, d)
}

func (t *tenantRules) allowance() (left time.Duration, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left, t.at
}

func (r *redaction) warn(t *tenantRules, workspaceID string) {
	now := r.now()
	t.mu.Lock()
	due := now.Sub(t.warned) >= redactWarnEvery
	if due {
		t.warned = now
	}
	t.mu.Unlock()
	if due {
		r.log.Warn("redaction rules are too slow; texts are not stored", "workspace", workspaceID)
	}
}
